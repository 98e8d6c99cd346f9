// What the host of the app keeps its leases and keys in, the app's package, the logs of answers under way, and long work: its
// table, its blobs, and the queue that wakes it.
param name string
param location string
param tags object
param appId string
param isPrivate bool

var storageBlobDataOwner = 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
var storageQueueDataContributor = '974c5e8b-45b9-4653-ba55-5f855dd0fb88'
var storageTableDataContributor = '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
var queueNames = ['index-jobs', 'index-jobs-poison'] // the host puts a message that failed five times into the second

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: { name: 'Standard_LRS' }
  properties: {
    allowBlobPublicAccess: false
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    supportsHttpsTrafficOnly: true
  }
}

// what is purged leaves no byte: a blob that was deleted is not kept
resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' = {
  parent: account
  name: 'default'
  properties: { deleteRetentionPolicy: { enabled: false } }
}

resource packages 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' = {
  parent: blobs
  name: 'app-package'
}

resource uploads 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' = {
  parent: blobs
  name: 'index-jobs'
}

resource answerLogs 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' = {
  parent: blobs
  name: 'answer-logs'
}

// the app deletes a log that is 15 minutes old with the next answer; this is for an app that is asked nothing more
resource lifetimes 'Microsoft.Storage/storageAccounts/managementPolicies@2025-01-01' = {
  parent: account
  name: 'default'
  properties: {
    policy: {
      rules: [
        {
          name: 'old-answer-logs'
          type: 'Lifecycle'
          definition: {
            filters: { blobTypes: ['appendBlob'], prefixMatch: ['${answerLogs.name}/'] }
            actions: { baseBlob: { delete: { daysAfterModificationGreaterThan: 1 } } }
          }
        }
      ]
    }
  }
}

resource tableService 'Microsoft.Storage/storageAccounts/tableServices@2025-01-01' = {
  parent: account
  name: 'default'
}

resource table 'Microsoft.Storage/storageAccounts/tableServices/tables@2025-01-01' = {
  parent: tableService
  name: 'indexjobs'
}

resource queueService 'Microsoft.Storage/storageAccounts/queueServices@2025-01-01' = {
  parent: account
  name: 'default'
}

resource queues 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-01-01' = [
  for queueName in queueNames: {
    parent: queueService
    name: queueName
  }
]

// it includes what the app does with the blobs of long work and the logs of answers
resource hostKeepsBlobs 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(account.id, appId, storageBlobDataOwner)
  scope: account
  properties: {
    principalId: appId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', storageBlobDataOwner)
  }
}

// on these queues alone: send, take, put back for later, delete
resource appUsesQueues 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (queueName, i) in queueNames: {
    name: guid(account.id, queueName, appId, storageQueueDataContributor)
    scope: queues[i]
    properties: {
      principalId: appId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', storageQueueDataContributor)
    }
  }
]

// on this table alone
resource appUsesTable 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(account.id, table.name, appId, storageTableDataContributor)
  scope: table
  properties: {
    principalId: appId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', storageTableDataContributor)
  }
}

output name string = account.name
output packages string = '${account.properties.primaryEndpoints.blob}${packages.name}'
