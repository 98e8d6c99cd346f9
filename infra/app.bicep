// The function app on the Flex Consumption plan, with nothing in its settings that opens anything.
param token string
param location string
param tags object
param pythonVersion string
param instanceMemoryMB int
param maximumInstances int
param requestsPerInstance int
param alwaysReadyInstances int
param allowedOrigins array
param authClientId string
param identityName string
@description('Address of the container that the package is deployed to.')
param packages string
param settings object
@description('Subnet through which the app reaches the services; empty for none.')
param subnetId string

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
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    siteConfig: {
      minTlsVersion: '1.2'
      cors: { allowedOrigins: allowedOrigins, supportCredentials: false }
    }
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: packages
          authentication: { type: 'UserAssignedIdentity', userAssignedIdentityResourceId: identity.id }
        }
      }
      runtime: { name: 'python', version: pythonVersion }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstances
        alwaysReady: alwaysReadyInstances == 0 ? [] : [{ name: 'http', instanceCount: alwaysReadyInstances }]
        triggers: { http: { perInstanceConcurrency: requestsPerInstance } } // host.json is not read for it on this plan
      }
    }
  }
}

resource appSettings 'Microsoft.Web/sites/config@2024-04-01' = {
  parent: app
  name: 'appsettings'
  properties: union(settings, {
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identity.properties.clientId};Authorization=AAD'
    APPLICATIONINSIGHTS_SDKSTATS_DISABLED: 'true' // the exporter would report on itself to Microsoft
    APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL: 'true'
    AZURE_CLIENT_ID: identity.properties.clientId
    AzureWebJobsStorage__clientId: identity.properties.clientId
    AzureWebJobsStorage__credential: 'managedidentity'
    MALLOC_ARENA_MAX: '2' // else each thread keeps the memory that it frees
    MALLOC_MMAP_THRESHOLD_: '131072' // large blocks go back when they are freed
    PYTHON_ENABLE_OPENTELEMETRY: 'true' // the worker makes the host's span the parent of ours
  })
}

resource auth 'Microsoft.Web/sites/config@2024-04-01' = if (!empty(authClientId)) {
  parent: app
  name: 'authsettingsV2'
  properties: {
    platform: { enabled: true }
    globalValidation: {
      requireAuthentication: true
      unauthenticatedClientAction: 'RedirectToLoginPage'
      redirectToProvider: 'azureactivedirectory'
      excludedPaths: ['/api/health']
    }
    identityProviders: {
      azureActiveDirectory: {
        enabled: true
        registration: {
          clientId: authClientId
          openIdIssuer: '${environment().authentication.loginEndpoint}${tenant().tenantId}/v2.0'
        }
        validation: { allowedAudiences: [authClientId, 'api://${authClientId}'] }
      }
    }
    login: { tokenStore: { enabled: false } } // the app needs no token of its callers
  }
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
