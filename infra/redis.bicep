// Azure Managed Redis (Azure Cache for Redis takes no new instances since 2026-10-01). Tokens only, TLS only.
param name string
param location string
param tags object
param appId string
param isPrivate bool

resource cluster 'Microsoft.Cache/redisEnterprise@2025-07-01' = {
  name: name
  location: location
  tags: tags
  sku: { name: 'Balanced_B0' }
  properties: {
    highAvailability: 'Disabled' // what is lost is computed again
    minimumTlsVersion: '1.2'
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
  }
}

resource database 'Microsoft.Cache/redisEnterprise/databases@2025-07-01' = {
  parent: cluster
  name: 'default'
  properties: {
    accessKeysAuthentication: 'Disabled'
    clientProtocol: 'Encrypted'
    clusteringPolicy: 'NoCluster' // any client will do
    evictionPolicy: 'AllKeysLRU'
    port: 10000
  }
}

resource appCaches 'Microsoft.Cache/redisEnterprise/databases/accessPolicyAssignments@2025-07-01' = {
  parent: database
  name: uniqueString(cluster.id, appId)
  properties: {
    accessPolicyName: 'default' // the only one there is
    user: { objectId: appId }
  }
}

output url string = 'rediss://${cluster.properties.hostName}:${database.properties.port}'
