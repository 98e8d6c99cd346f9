// A private endpoint of one service, and the zone by which its public name leads there within the network.
param name string
param location string
param tags object
@description('The service.')
param serviceId string
@description('Which of its parts: blob, searchService, account and so on.')
param part string
param zone string
param networkId string
param subnetId string

resource endpoint 'Microsoft.Network/privateEndpoints@2024-05-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    subnet: { id: subnetId }
    privateLinkServiceConnections: [
      { name: part, properties: { privateLinkServiceId: serviceId, groupIds: [part] } }
    ]
  }
}

resource privateZone 'Microsoft.Network/privateDnsZones@2024-06-01' = {
  name: zone
  location: 'global'
  tags: tags
}

resource link 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = {
  parent: privateZone
  name: 'rag'
  location: 'global'
  tags: tags
  properties: {
    registrationEnabled: false
    virtualNetwork: { id: networkId }
  }
}

resource record 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2024-05-01' = {
  parent: endpoint
  name: 'default'
  properties: { privateDnsZoneConfigs: [{ name: part, properties: { privateDnsZoneId: privateZone.id } }] }
}
