// The chat model and the embedding model, each deployed under its own name.
param name string
param location string
param tags object
@description('Whether a deleted account of this name is taken up again.')
param restores bool
param chat object
param embedding object
param capacity int
param appId string
param operatorId string
param operatorType string
param isPrivate bool
@description('Address from which the operator reaches a private service; empty for nobody.')
param operatorAddress string
@description('Principal of the search service, where it embeds queries; empty otherwise.')
param searchId string

var cognitiveServicesOpenAIUser = '5e0bd9bd-7b93-4f28-af87-19fc36ad61bd'
var users = concat(
  [{ id: appId, type: 'ServicePrincipal' }],
  empty(operatorId) ? [] : [{ id: operatorId, type: operatorType }],
  empty(searchId) ? [] : [{ id: searchId, type: 'ServicePrincipal' }]
)

resource account 'Microsoft.CognitiveServices/accounts@2025-06-01' = {
  name: name
  location: location
  tags: tags
  kind: 'OpenAI'
  sku: { name: 'S0' }
  properties: {
    customSubDomainName: name // a token is taken at such an address only
    disableLocalAuth: true
    restore: restores
    publicNetworkAccess: isPrivate && empty(operatorAddress) ? 'Disabled' : 'Enabled'
    networkAcls: {
      defaultAction: isPrivate ? 'Deny' : 'Allow'
      bypass: 'AzureServices' // among them the search service, by its identity
      ipRules: isPrivate && !empty(operatorAddress) ? [{ value: operatorAddress }] : []
    }
  }
}

@batchSize(1) // an account makes one deployment at a time
resource deployment 'Microsoft.CognitiveServices/accounts/deployments@2025-06-01' = [
  for model in [chat, embedding]: {
    parent: account
    name: model.name
    sku: { name: model.sku, capacity: capacity }
    properties: {
      model: { format: 'OpenAI', name: model.name, version: model.version }
    }
  }
]

resource mayAsk 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for user in users: {
    name: guid(account.id, user.id, cognitiveServicesOpenAIUser)
    scope: account
    properties: {
      principalId: user.id
      principalType: user.type
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', cognitiveServicesOpenAIUser)
    }
  }
]

output endpoint string = account.properties.endpoint
