// The function app on the Flex Consumption plan, with nothing in its settings that opens anything.
param token string
param location string
param tags object
param pythonVersion string
param instanceMemoryMB int
param maximumInstances int
param identityName string
@description('Address of the container that the package is deployed to.')
param packages string
param settings object

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' existing = {
  name: identityName
}

resource plan 'Microsoft.Web/serverfarms@2024-04-01' = {
  name: 'plan-rag-${token}'
  location: location
  tags: tags
  kind: 'functionapp'
  sku: { name: 'FC1', tier: 'FlexConsumption' }
  properties: { reserved: true }
}

resource app 'Microsoft.Web/sites@2024-04-01' = {
  name: 'func-rag-${token}'
  location: location
  tags: union(tags, { 'azd-service-name': 'api' })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: { '${identity.id}': {} }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    siteConfig: { minTlsVersion: '1.2' }
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: packages
          authentication: { type: 'UserAssignedIdentity', userAssignedIdentityResourceId: identity.id }
        }
      }
      runtime: { name: 'python', version: pythonVersion }
      scaleAndConcurrency: { instanceMemoryMB: instanceMemoryMB, maximumInstanceCount: maximumInstances }
    }
  }
}

resource appSettings 'Microsoft.Web/sites/config@2024-04-01' = {
  parent: app
  name: 'appsettings'
  properties: union(settings, {
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identity.properties.clientId};Authorization=AAD'
    AZURE_CLIENT_ID: identity.properties.clientId
    AzureWebJobsStorage__clientId: identity.properties.clientId
    AzureWebJobsStorage__credential: 'managedidentity'
  })
}

resource publishing 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-04-01' = [
  for way in ['ftp', 'scm']: {
    parent: app
    name: way
    properties: { allow: false } // deployment is by token too
  }
]

output name string = app.name
output url string = 'https://${app.properties.defaultHostName}'
