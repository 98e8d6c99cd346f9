// What `azd up` makes: one resource group; in it each service by the file of its name, which also says who may use it;
// and the function app that reaches them all with its own identity. No key to any of them is read, made or stored.
targetScope = 'subscription'

@description('Tells one environment from another: it is in every name and tag.')
@minLength(1)
@maxLength(32)
param environmentName string

// where public lists name all three (docs/decisions/0086-first-azd-up.md): elsewhere one of the services fails after minutes
@description('Region of everything. It has to offer Flex Consumption, the semantic ranker and both models.')
@allowed([
  'australiaeast'
  'brazilsouth'
  'eastus'
  'eastus2'
  'francecentral'
  'germanywestcentral'
  'japaneast'
  'koreacentral'
  'northcentralus'
  'southafricanorth'
  'southcentralus'
  'swedencentral'
  'uaenorth'
  'uksouth'
  'westeurope'
  'westus'
  'westus3'
])
@metadata({ azd: { type: 'location' } })
param location string

@description('Object id of the user or group that runs rag setup and rag ingest; empty for nobody. azd fills in who runs it.')
param operatorId string = ''

@description('What operatorId names.')
@allowed(['User', 'Group', 'ServicePrincipal'])
param operatorType string = 'User'

@description('More tags for the resource group and everything in it that takes tags.')
param extraTags object = {}

@description('Python of the app.')
@allowed(['3.11', '3.12', '3.13'])
param pythonVersion string = '3.13'

@description('Memory of one instance of the app, in MB; a local model needs 4096.')
@allowed([2048, 4096])
param instanceMemoryMB int = 2048

@description('The most instances of each group of functions: requests, the queue and the timer scale apart. It caps no cost.')
@minValue(1)
@maxValue(1000)
param maximumInstances int = 40

@description('Requests that an instance takes at a time, before another is started. Unset, Azure gives a Python app one.')
@minValue(1)
@maxValue(1000)
param requestsPerInstance int = 32

@description('Instances that wait for requests, so that none starts cold. They are paid by the hour, used or not.')
@minValue(0)
@maxValue(1000)
param alwaysReadyInstances int = 0

@description('Origins whose pages may call the app from a browser, such as https://intranet.example. The pages of the app need none.')
param allowedOrigins array = []

@description('Client id of an app registration in Microsoft Entra, which issues ID tokens. Set, everybody signs in first.')
param authClientId string = ''

@description('Plan of the semantic ranker. free ends after 1,000 queries a month, then the order of the search answers; standard charges for more.')
@allowed(['disabled', 'free', 'standard'])
param semanticRankerPlan string = 'free'

@description('Tier of Azure AI Search. The semantic ranker wants basic or more.')
@allowed(['basic', 'standard', 'standard2', 'standard3'])
param searchSku string = 'basic'

@description('Whether the search service embeds the queries of the pipeline agentic, by the embedding model and at its price.')
param searchVectorizer bool = false

@description('Whether the services are reached by private endpoints in a network of their own. Each is paid by the hour.')
param privateNetwork bool = false

@description('With privateNetwork, the IP address from which rag setup reaches store and models; empty for none.')
param operatorAddress string = ''

@description('Name of the chat model, one of rag_core/core/hosted_models.json; empty for its default. The deployment bears the name of its model.')
param chatModel string = ''

@description('Name of the embedding model, of the same file; empty for its default. Another one wants another searchIndex.')
param embeddingModel string = ''

@description('Thousands of tokens a minute that each model may take.')
@minValue(1)
param modelCapacity int = 30

@description('Whether accounts of the same name, deleted within 48 hours and not purged, are taken up again. Azure refuses to make them anew.')
param restoreAccounts bool = false

@description('Name of the index that rag setup makes.')
param searchIndex string = 'rag-chunks'

@description('The most that is logged, in GB a day; what comes after is dropped until the next day.')
@minValue(1)
param logsGBPerDay int = 1

@description('Name by which operatorId signs in. Set, PostgreSQL with pgvector is made in place of Azure AI Search, and operatorId is its administrator.')
param postgresAdministrator string = ''

@description('Whether to make an Azure Managed Redis for cached answers.')
param redis bool = false

@description('Signs what is remembered in Redis. It opens nothing; a new one empties the cache.')
@secure()
param cacheSigningKey string = newGuid()

@description('More settings of the app, by the names in docs/reference/settings.md. None may be a key.')
param appSettings object = {}

var token = toLower(uniqueString(subscription().id, environmentName, location))
var hostedModels = loadJsonContent('../rag_core/core/hosted_models.json')
var chatName = empty(chatModel) ? hostedModels.defaults.chat : chatModel
var embeddingName = empty(embeddingModel) ? hostedModels.defaults.embeddings : embeddingModel
var withPostgres = !empty(postgresAdministrator)
var storageName = 'strag${token}'
var searchName = 'srch-rag-${token}'
var modelsName = 'oai-rag-${token}'
var documentsName = 'di-rag-${token}'
var postgresName = 'psql-rag-${token}'
var redisName = 'redis-rag-${token}'
var storageZone = environment().suffixes.storage
var alwaysReached = [
  { name: 'blob', part: 'blob', type: 'Microsoft.Storage/storageAccounts', of: storageName, zone: 'privatelink.blob.${storageZone}' }
  { name: 'queue', part: 'queue', type: 'Microsoft.Storage/storageAccounts', of: storageName, zone: 'privatelink.queue.${storageZone}' }
  { name: 'table', part: 'table', type: 'Microsoft.Storage/storageAccounts', of: storageName, zone: 'privatelink.table.${storageZone}' }
  { name: 'models', part: 'account', type: 'Microsoft.CognitiveServices/accounts', of: modelsName, zone: 'privatelink.openai.azure.com' }
  { name: 'documents', part: 'account', type: 'Microsoft.CognitiveServices/accounts', of: documentsName, zone: 'privatelink.cognitiveservices.azure.com' }
]
var searchReached = [
  { name: 'search', part: 'searchService', type: 'Microsoft.Search/searchServices', of: searchName, zone: 'privatelink.search.windows.net' }
]
var postgresReached = [
  { name: 'postgres', part: 'postgresqlServer', type: 'Microsoft.DBforPostgreSQL/flexibleServers', of: postgresName, zone: 'privatelink.postgres.database.azure.com' }
]
var redisReached = [
  { name: 'redis', part: 'redisEnterprise', type: 'Microsoft.Cache/redisEnterprise', of: redisName, zone: 'privatelink.redis.azure.net' }
]
var reached = concat(alwaysReached, withPostgres ? postgresReached : searchReached, redis ? redisReached : [])
var privatelyReached = privateNetwork ? reached : []
var tags = union(extraTags, { 'azd-env-name': environmentName })

resource group 'Microsoft.Resources/resourceGroups@2024-03-01' = {
  name: 'rg-${environmentName}'
  location: location
  tags: tags
}

module identity 'identity.bicep' = {
  name: 'identity'
  scope: group
  params: {
    name: 'id-rag-${token}'
    location: location
    tags: tags
  }
}

module monitoring 'monitoring.bicep' = {
  name: 'monitoring'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
    appId: identity.outputs.principalId
    gigabytesPerDay: logsGBPerDay
  }
}

module storage 'storage.bicep' = {
  name: 'storage'
  scope: group
  params: {
    name: storageName
    location: location
    tags: tags
    appId: identity.outputs.principalId
    isPrivate: privateNetwork
  }
}

module search 'search.bicep' = if (!withPostgres) {
  name: 'search'
  scope: group
  params: {
    name: searchName
    location: location
    tags: tags
    sku: searchSku
    semanticRankerPlan: semanticRankerPlan
    appId: identity.outputs.principalId
    operatorId: operatorId
    operatorType: operatorType
    embedsQueries: searchVectorizer
    isPrivate: privateNetwork
    operatorAddress: operatorAddress
  }
}

module models 'models.bicep' = {
  name: 'models'
  scope: group
  params: {
    name: modelsName
    location: location
    tags: tags
    chat: union({ name: chatName }, hostedModels.models[chatName])
    embedding: union({ name: embeddingName }, hostedModels.models[embeddingName])
    capacity: modelCapacity
    restores: restoreAccounts
    appId: identity.outputs.principalId
    operatorId: operatorId
    operatorType: operatorType
    isPrivate: privateNetwork
    operatorAddress: operatorAddress
    searchId: withPostgres ? '' : search!.outputs.principalId
  }
}

module documents 'documents.bicep' = {
  name: 'documents'
  scope: group
  params: {
    name: documentsName
    location: location
    tags: tags
    restores: restoreAccounts
    appId: identity.outputs.principalId
    operatorId: operatorId
    operatorType: operatorType
    isPrivate: privateNetwork
    operatorAddress: operatorAddress
  }
}

module postgres 'postgres.bicep' = if (withPostgres) {
  name: 'postgres'
  scope: group
  params: {
    name: postgresName
    location: location
    tags: tags
    administratorId: operatorId
    administratorName: postgresAdministrator
    administratorType: operatorType
    isPrivate: privateNetwork
    operatorAddress: operatorAddress
  }
}

module cache 'redis.bicep' = if (redis) {
  name: 'redis'
  scope: group
  params: {
    name: redisName
    location: location
    tags: tags
    appId: identity.outputs.principalId
    isPrivate: privateNetwork
  }
}

module network 'network.bicep' = if (privateNetwork) {
  name: 'network'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
  }
}

module endpoints 'endpoint.bicep' = [
  for each in privatelyReached: {
    name: 'endpoint-${each.name}'
    scope: group
    params: {
      name: 'pep-${each.name}-${token}'
      location: location
      tags: tags
      serviceId: resourceId(subscription().subscriptionId, group.name, each.type, each.of)
      part: each.part
      zone: each.zone
      networkId: network!.outputs.networkId
      subnetId: network!.outputs.endpointSubnetId
    }
    dependsOn: [storage, search, models, documents, postgres, cache]
  }
]

module app 'app.bicep' = {
  name: 'app'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
    pythonVersion: pythonVersion
    instanceMemoryMB: instanceMemoryMB
    maximumInstances: maximumInstances
    requestsPerInstance: requestsPerInstance
    alwaysReadyInstances: alwaysReadyInstances
    allowedOrigins: allowedOrigins
    authClientId: authClientId
    identityName: identity.outputs.name
    subnetId: privateNetwork ? network!.outputs.appSubnetId : ''
    packages: storage.outputs.packages
    settings: union(
      appSettings,
      {
        APPLICATIONINSIGHTS_CONNECTION_STRING: monitoring.outputs.connectionString
        AZURE_OPENAI_ENDPOINT: models.outputs.endpoint // of both models; RAG_CHAT_PROVIDER and RAG_EMBEDDING_PROVIDER part them
        AZURE_OPENAI_CHAT_DEPLOYMENT: chatName
        AZURE_OPENAI_EMBEDDING_DEPLOYMENT: embeddingName
        AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT: documents.outputs.endpoint
        AzureWebJobsStorage__accountName: storage.outputs.name // the host's; long work is there too
        RAG_MAX_HEAVY_REQUESTS: string(requestsPerInstance) // models are elsewhere: an instance mostly waits for them
        RAG_DATA_DIR: '/tmp/rag' // the one place an instance may write
      },
      withPostgres ? { POSTGRES_URL: 'postgresql://${identity.outputs.name}@${postgres!.outputs.address}' } : {},
      withPostgres ? { ARCHIVE_URL: 'postgresql://${identity.outputs.name}@${postgres!.outputs.address}' } : {},
      withPostgres ? {} : { AZURE_SEARCH_ENDPOINT: search!.outputs.endpoint, AZURE_SEARCH_INDEX: searchIndex },
      redis ? { REDIS_URL: cache!.outputs.url, RAG_CACHE_SIGNING_KEY: cacheSigningKey } : {}
    )
  }
}

output AZURE_RESOURCE_GROUP string = group.name
output AZURE_FUNCTION_NAME string = app.outputs.name
output AZURE_IDENTITY_NAME string = identity.outputs.name
output RAG_FUNCTIONS_URL string = app.outputs.url
output AZURE_SEARCH_ENDPOINT string = withPostgres ? '' : search!.outputs.endpoint
output AZURE_SEARCH_INDEX string = searchIndex
output AZURE_SEARCH_VECTORIZER string = searchVectorizer ? '1' : '0'
output AZURE_OPENAI_ENDPOINT string = models.outputs.endpoint
output AZURE_OPENAI_CHAT_DEPLOYMENT string = chatName
output AZURE_OPENAI_EMBEDDING_DEPLOYMENT string = embeddingName
output AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT string = documents.outputs.endpoint
output POSTGRES_ADDRESS string = withPostgres ? postgres!.outputs.address : ''
