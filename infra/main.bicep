// The function app on the Flex Consumption plan with its store and its models, all reached with its own identity: no
// key is stored anywhere.
targetScope = 'resourceGroup'

@description('Tells the resources of one environment from those of another.')
@minLength(1)
@maxLength(32)
param environmentName string

@description('A region that offers Flex Consumption.')
param location string = resourceGroup().location

@allowed(['3.11', '3.12', '3.13'])
param pythonVersion string = '3.13'

@description('Memory of one instance; a local model needs the larger sizes.')
@allowed([512, 2048, 4096])
param instanceMemoryMB int = 2048

@minValue(1)
@maxValue(1000)
param maximumInstances int = 40

@description('Tier of Azure AI Search. The semantic ranker wants basic or more.')
@allowed(['basic', 'standard', 'standard2'])
param searchSku string = 'basic'

@description('Thousands of tokens a minute of each model.')
@minValue(1)
param modelCapacity int = 30

@description('Who else may run rag setup and index: object id of a user or group; empty for nobody.')
param operatorId string = ''

@allowed(['User', 'Group'])
param operatorType string = 'User'

@description('RAG_ settings of the app, as in docs/settings.md.')
param ragSettings object = {
  RAG_TIMEOUT_S: '200'
  RAG_DATA_DIR: '/tmp/rag' // the outbox of one instance: see infra/README.md
}

var token = toLower(uniqueString(resourceGroup().id, environmentName))
var tags = { 'azd-env-name': environmentName }
var packages = 'app-package'
var roles = {
  storageBlobDataOwner: 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
  monitoringMetricsPublisher: '3913510d-42f4-4e42-8a64-420c390055eb'
  searchIndexDataContributor: '8ebe5a00-799e-43f5-93ac-243d3dce84a7'
  searchServiceContributor: '7ca78c08-252a-4471-8644-bb5ff32d4ba0'
  openAIUser: '5e0bd9bd-7b93-4f28-af87-19fc36ad61bd'
  cognitiveServicesUser: 'a97b65f3-24c7-4388-baec-2e87135dc908'
}
var chat = { name: 'gpt-4o-mini', version: '2024-07-18' }
var embedding = { name: 'text-embedding-3-small', version: '1' }

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' = {
  name: 'id-rag-${token}'
  location: location
  tags: tags
}

resource storage 'Microsoft.Storage/storageAccounts@2023-05-01' = {
  name: 'strag${token}'
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: { name: 'Standard_LRS' }
  properties: {
    allowBlobPublicAccess: false
    allowSharedKeyAccess: false
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
  }

  resource blobs 'blobServices' = {
    name: 'default'

    resource container 'containers' = {
      name: packages
    }
  }
}

resource logs 'Microsoft.OperationalInsights/workspaces@2023-09-01' = {
  name: 'log-rag-${token}'
  location: location
  tags: tags
  properties: {
    retentionInDays: 30
    sku: { name: 'PerGB2018' }
  }
}

resource insights 'Microsoft.Insights/components@2020-02-02' = {
  name: 'appi-rag-${token}'
  location: location
  tags: tags
  kind: 'web'
  properties: {
    Application_Type: 'web'
    DisableLocalAuth: true
    WorkspaceResourceId: logs.id
  }
}

// the host keeps its keys and leases in blobs, and fetches the package from one
resource ownBlobs 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(storage.id, identity.id, roles.storageBlobDataOwner)
  scope: storage
  properties: {
    principalId: identity.properties.principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.storageBlobDataOwner)
  }
}

resource publishMetrics 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(insights.id, identity.id, roles.monitoringMetricsPublisher)
  scope: insights
  properties: {
    principalId: identity.properties.principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.monitoringMetricsPublisher)
  }
}

resource search 'Microsoft.Search/searchServices@2023-11-01' = {
  name: 'srch-rag-${token}'
  location: location
  tags: tags
  sku: { name: searchSku }
  properties: {
    disableLocalAuth: true
    semanticSearch: 'free'
  }
}

resource openAI 'Microsoft.CognitiveServices/accounts@2024-10-01' = {
  name: 'oai-rag-${token}'
  location: location
  tags: tags
  kind: 'OpenAI'
  sku: { name: 'S0' }
  properties: {
    customSubDomainName: 'oai-rag-${token}'
    disableLocalAuth: true
  }

  resource chatModel 'deployments' = {
    name: chat.name
    sku: { name: 'GlobalStandard', capacity: modelCapacity }
    properties: { model: { format: 'OpenAI', name: chat.name, version: chat.version } }
  }

  resource embeddingModel 'deployments' = {
    name: embedding.name
    sku: { name: 'GlobalStandard', capacity: modelCapacity }
    properties: { model: { format: 'OpenAI', name: embedding.name, version: embedding.version } }
    dependsOn: [chatModel] // deployments of one account are made one after the other
  }
}

resource documents 'Microsoft.CognitiveServices/accounts@2024-10-01' = {
  name: 'di-rag-${token}'
  location: location
  tags: tags
  kind: 'FormRecognizer'
  sku: { name: 'S0' }
  properties: {
    customSubDomainName: 'di-rag-${token}'
    disableLocalAuth: true
  }
}

resource appWritesIndex 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(search.id, identity.id, roles.searchIndexDataContributor)
  scope: search
  properties: {
    principalId: identity.properties.principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.searchIndexDataContributor)
  }
}

resource appAsksModels 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(openAI.id, identity.id, roles.openAIUser)
  scope: openAI
  properties: {
    principalId: identity.properties.principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.openAIUser)
  }
}

resource appReadsDocuments 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(documents.id, identity.id, roles.cognitiveServicesUser)
  scope: documents
  properties: {
    principalId: identity.properties.principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.cognitiveServicesUser)
  }
}

// `rag setup` defines the index, which the app itself never may
resource operatorDefinesIndex 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(operatorId)) {
  name: guid(search.id, operatorId, roles.searchServiceContributor)
  scope: search
  properties: {
    principalId: operatorId
    principalType: operatorType
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.searchServiceContributor)
  }
}

resource operatorWritesIndex 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(operatorId)) {
  name: guid(search.id, operatorId, roles.searchIndexDataContributor)
  scope: search
  properties: {
    principalId: operatorId
    principalType: operatorType
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.searchIndexDataContributor)
  }
}

resource operatorAsksModels 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(operatorId)) {
  name: guid(openAI.id, operatorId, roles.openAIUser)
  scope: openAI
  properties: {
    principalId: operatorId
    principalType: operatorType
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.openAIUser)
  }
}

resource plan 'Microsoft.Web/serverfarms@2024-04-01' = {
  name: 'plan-rag-${token}'
  location: location
  tags: tags
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
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
    siteConfig: {
      minTlsVersion: '1.2'
      ftpsState: 'Disabled'
    }
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: '${storage.properties.primaryEndpoints.blob}${packages}'
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identity.id
          }
        }
      }
      runtime: {
        name: 'python'
        version: pythonVersion
      }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstances
      }
    }
  }
  dependsOn: [ownBlobs]

  resource appSettings 'config' = {
    name: 'appsettings'
    properties: union(ragSettings, {
      APPLICATIONINSIGHTS_CONNECTION_STRING: insights.properties.ConnectionString
      APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identity.properties.clientId};Authorization=AAD'
      AZURE_CLIENT_ID: identity.properties.clientId
      AZURE_SEARCH_ENDPOINT: 'https://${search.name}.search.windows.net'
      AZURE_OPENAI_ENDPOINT: openAI.properties.endpoint
      AZURE_OPENAI_CHAT_DEPLOYMENT: openAI::chatModel.name
      AZURE_OPENAI_EMBEDDING_DEPLOYMENT: openAI::embeddingModel.name
      AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT: documents.properties.endpoint
      AzureWebJobsStorage__accountName: storage.name
      AzureWebJobsStorage__clientId: identity.properties.clientId
      AzureWebJobsStorage__credential: 'managedidentity'
    })
  }
}

output AZURE_FUNCTION_NAME string = app.name
output AZURE_SEARCH_ENDPOINT string = 'https://${search.name}.search.windows.net'
output AZURE_OPENAI_ENDPOINT string = openAI.properties.endpoint
output API_URL string = 'https://${app.properties.defaultHostName}'
