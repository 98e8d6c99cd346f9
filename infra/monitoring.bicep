// Where traces and logs go, and for how long.
param token string
param location string
param tags object
param appId string
param gigabytesPerDay int

var monitoringMetricsPublisher = '3913510d-42f4-4e42-8a64-420c390055eb'

resource logs 'Microsoft.OperationalInsights/workspaces@2023-09-01' = {
  name: 'log-rag-${token}'
  location: location
  tags: tags
  properties: {
    retentionInDays: 30 // the time that the price of ingestion includes
    sku: { name: 'PerGB2018' }
    features: { disableLocalAuth: true }
    workspaceCapping: { dailyQuotaGb: gigabytesPerDay }
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

resource appPublishes 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(insights.id, appId, monitoringMetricsPublisher)
  scope: insights
  properties: {
    principalId: appId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', monitoringMetricsPublisher)
  }
}

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(insights.id, 'rag-service')
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: 'RAG service'
    category: 'workbook'
    sourceId: insights.id
    version: 'Notebook/1.0'
    serializedData: loadTextContent('workbook.json') // six pictures: requests, steps, tokens and USD, fallbacks, answers, jobs
  }
}

output connectionString string = insights.properties.ConnectionString // an address: with local auth off its key opens nothing
