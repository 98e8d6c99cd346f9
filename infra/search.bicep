// The store. The app reads and writes documents; only the operator may define an index.
param name string
param location string
param tags object
param sku string
param semanticRankerPlan string
param appId string
param operatorId string
param operatorType string
@description('Whether the service embeds queries, for which it has an identity.')
param embedsQueries bool
param isPrivate bool
@description('Address from which the operator reaches a private service; empty for nobody.')
param operatorAddress string

var searchIndexDataContributor = '8ebe5a00-799e-43f5-93ac-243d3dce84a7'
var searchServiceContributor = '7ca78c08-252a-4471-8644-bb5ff32d4ba0'
resource search 'Microsoft.Search/searchServices@2025-05-01' = {
  name: name
  location: location
  tags: tags
  sku: { name: sku }
  identity: { type: embedsQueries ? 'SystemAssigned' : 'None' }
  properties: {
    disableLocalAuth: true
    publicNetworkAccess: isPrivate && empty(operatorAddress) ? 'disabled' : 'enabled'
    networkRuleSet: { ipRules: isPrivate && !empty(operatorAddress) ? [{ value: operatorAddress }] : [] }
    semanticSearch: semanticRankerPlan
  }
}

resource appUsesIndexes 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(search.id, appId, searchIndexDataContributor)
  scope: search
  properties: {
    principalId: appId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', searchIndexDataContributor)
  }
}

resource operatorDefinesIndexes 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in (empty(operatorId) ? [] : [searchIndexDataContributor, searchServiceContributor]): {
    name: guid(search.id, operatorId, role)
    scope: search
    properties: {
      principalId: operatorId
      principalType: operatorType
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role)
    }
  }
]

output principalId string = embedsQueries ? search.identity.principalId : ''
output endpoint string = 'https://${search.name}.search.windows.net'
