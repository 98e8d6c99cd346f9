// Document Intelligence, which reads Word files, scans and images.
param name string
param location string
param tags object
@description('Whether a deleted account of this name is taken up again.')
param restores bool
param appId string
param operatorId string
param operatorType string
param isPrivate bool
@description('Address from which the operator reaches a private service; empty for nobody.')
param operatorAddress string

var cognitiveServicesUser = 'a97b65f3-24c7-4388-baec-2e87135dc908'
var users = concat(
  [{ id: appId, type: 'ServicePrincipal' }],
  empty(operatorId) ? [] : [{ id: operatorId, type: operatorType }]
)

resource account 'Microsoft.CognitiveServices/accounts@2025-06-01' = {
  name: name
  location: location
  tags: tags
  kind: 'FormRecognizer'
  sku: { name: 'S0' }
  properties: {
    customSubDomainName: name // a token is taken at such an address only
    disableLocalAuth: true
    restore: restores
    publicNetworkAccess: isPrivate && empty(operatorAddress) ? 'Disabled' : 'Enabled'
    networkAcls: {
      defaultAction: isPrivate ? 'Deny' : 'Allow'
      ipRules: isPrivate && !empty(operatorAddress) ? [{ value: operatorAddress }] : []
    }
  }
}

resource mayRead 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for user in users: {
    name: guid(account.id, user.id, cognitiveServicesUser)
    scope: account
    properties: {
      principalId: user.id
      principalType: user.type
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', cognitiveServicesUser)
    }
  }
]

output endpoint string = account.properties.endpoint
