// PostgreSQL with pgvector. Tokens only: the server has no password. Its administrator admits the app (docs/guide/deploy.md).
param name string
param location string
param tags object
param administratorId string
param administratorName string
param administratorType string
param isPrivate bool
@description('Address from which the administrator reaches a private server; empty for nobody.')
param operatorAddress string

resource server 'Microsoft.DBforPostgreSQL/flexibleServers@2024-08-01' = {
  name: name
  location: location
  tags: tags
  sku: { name: 'Standard_B1ms', tier: 'Burstable' }
  properties: {
    version: '17'
    storage: { storageSizeGB: 32 }
    backup: { backupRetentionDays: 7, geoRedundantBackup: 'Disabled' }
    highAvailability: { mode: 'Disabled' }
    network: { publicNetworkAccess: isPrivate && empty(operatorAddress) ? 'Disabled' : 'Enabled' }
    authConfig: { activeDirectoryAuth: 'Enabled', passwordAuth: 'Disabled', tenantId: tenant().tenantId }
  }
}

resource extensions 'Microsoft.DBforPostgreSQL/flexibleServers/configurations@2024-08-01' = {
  parent: server
  name: 'azure.extensions'
  properties: { value: 'VECTOR', source: 'user-override' }
}

resource database 'Microsoft.DBforPostgreSQL/flexibleServers/databases@2024-08-01' = {
  parent: server
  name: 'rag'
  dependsOn: [extensions] // a server does one thing at a time
}

var fromAzure = '0.0.0.0' // Azure's own way to say so
resource admitted 'Microsoft.DBforPostgreSQL/flexibleServers/firewallRules@2024-08-01' = if (!isPrivate || !empty(operatorAddress)) {
  parent: server
  name: isPrivate ? 'operator' : 'AllowAllAzureServicesAndResourcesWithinAzureIps'
  properties: {
    startIpAddress: isPrivate ? operatorAddress : fromAzure
    endIpAddress: isPrivate ? operatorAddress : fromAzure
  }
  dependsOn: [database]
}

resource administrator 'Microsoft.DBforPostgreSQL/flexibleServers/administrators@2024-08-01' = {
  parent: server
  name: administratorId
  properties: { principalName: administratorName, principalType: administratorType, tenantId: tenant().tenantId }
  dependsOn: [admitted]
}

output address string = '${server.properties.fullyQualifiedDomainName}:5432/${database.name}?sslmode=require'
