// A network of its own: the app has one subnet of it, and the services an address each in the other.
param token string
param location string
param tags object

resource network 'Microsoft.Network/virtualNetworks@2024-05-01' = {
  name: 'vnet-rag-${token}'
  location: location
  tags: tags
  properties: {
    addressSpace: { addressPrefixes: ['10.20.0.0/16'] }
    subnets: [
      {
        name: 'app'
        properties: {
          addressPrefix: '10.20.0.0/24'
          delegations: [{ name: 'flex', properties: { serviceName: 'Microsoft.App/environments' } }] // of Flex Consumption
        }
      }
      { name: 'endpoints', properties: { addressPrefix: '10.20.1.0/24' } }
    ]
  }
}

output networkId string = network.id
output appSubnetId string = network.properties.subnets[0].id
output endpointSubnetId string = network.properties.subnets[1].id
