"""infra/ against the resource schemas of Microsoft's management packages, read by two parsers."""

from collections.abc import Mapping
from typing import Any

import pytest
from pycep import BicepParser

from tests.management_schema import Property, find_faults, read_properties
from tests.test_infra import FILES, MAIN, TEXTS, body, resources

SCHEMAS = {  # by type of resource: the management package and its model
    "Microsoft.Storage/storageAccounts": ("storage", "StorageAccountCreateParameters"),
    "Microsoft.Storage/storageAccounts/blobServices": ("storage", "BlobServiceProperties"),
    "Microsoft.Storage/storageAccounts/blobServices/containers": ("storage", "BlobContainer"),
    "Microsoft.Storage/storageAccounts/managementPolicies": ("storage", "ManagementPolicy"),
    "Microsoft.Storage/storageAccounts/queueServices": ("storage", "QueueServiceProperties"),
    "Microsoft.Storage/storageAccounts/queueServices/queues": ("storage", "StorageQueue"),
    "Microsoft.Storage/storageAccounts/tableServices": ("storage", "TableServiceProperties"),
    "Microsoft.Storage/storageAccounts/tableServices/tables": ("storage", "Table"),
    "Microsoft.OperationalInsights/workspaces": ("loganalytics", "Workspace"),
    "Microsoft.Insights/components": ("applicationinsights", "ApplicationInsightsComponent"),
    "Microsoft.Insights/workbooks": ("applicationinsights.v2023_06_01", "Workbook"),
    "Microsoft.Search/searchServices": ("search", "SearchService"),
    "Microsoft.CognitiveServices/accounts": ("cognitiveservices", "Account"),
    "Microsoft.CognitiveServices/accounts/deployments": ("cognitiveservices", "Deployment"),
    "Microsoft.DBforPostgreSQL/flexibleServers": ("postgresqlflexibleservers", "Server"),
    "Microsoft.DBforPostgreSQL/flexibleServers/databases": ("postgresqlflexibleservers", "Database"),
    "Microsoft.DBforPostgreSQL/flexibleServers/configurations": ("postgresqlflexibleservers", "Configuration"),
    "Microsoft.DBforPostgreSQL/flexibleServers/firewallRules": ("postgresqlflexibleservers", "FirewallRule"),
    "Microsoft.DBforPostgreSQL/flexibleServers/administrators": (
        "postgresqlflexibleservers",
        "AdministratorMicrosoftEntraAdd",
    ),
    "Microsoft.Cache/redisEnterprise": ("redisenterprise", "Cluster"),
    "Microsoft.Cache/redisEnterprise/databases": ("redisenterprise", "Database"),
    "Microsoft.Cache/redisEnterprise/databases/accessPolicyAssignments": ("redisenterprise", "AccessPolicyAssignment"),
    "Microsoft.Network/virtualNetworks": ("network", "VirtualNetwork"),
    "Microsoft.Network/privateEndpoints": ("network", "PrivateEndpoint"),
    "Microsoft.Network/privateEndpoints/privateDnsZoneGroups": ("network", "PrivateDnsZoneGroup"),
    "Microsoft.Network/privateDnsZones": ("privatedns", "PrivateZone"),
    "Microsoft.Network/privateDnsZones/virtualNetworkLinks": ("privatedns", "VirtualNetworkLink"),
    "Microsoft.Web/serverfarms": ("web", "AppServicePlan"),
    "Microsoft.Web/sites": ("web", "Site"),
    "Microsoft.Web/sites/config/authsettingsV2": ("web", "SiteAuthSettingsV2"),
    "Microsoft.Web/sites/basicPublishingCredentialsPolicies": ("web", "CsmPublishingCredentialsPoliciesEntity"),
}
PLACE = {"location": Property(required=True), "tags": Property()}
PRINCIPALS = frozenset({"User", "Group", "ServicePrincipal", "ForeignGroup", "Device"})
BY_HAND: dict[
    str, dict[str, Property]
] = {  # learn.microsoft.com/azure/templates: small ones, whose packages are not installed
    "Microsoft.Resources/resourceGroups": PLACE,
    "Microsoft.ManagedIdentity/userAssignedIdentities": PLACE,
    "Microsoft.Authorization/roleAssignments": {
        "properties": Property(
            lambda: {
                "principalId": Property(required=True),
                "roleDefinitionId": Property(required=True),
                "principalType": Property(values=PRINCIPALS, required=True),  # a new principal is not found without
            },
            required=True,
        )
    },
    "Microsoft.Web/sites/config/appsettings": {"properties": Property(required=True)},  # any names
}
OF_BICEP = {"name", "parent", "scope", "depends_on", "dependsOn"}  # said to the compiler, not to the service


@pytest.mark.parametrize("kind", [*SCHEMAS, *BY_HAND])
def test_every_property_and_value_is_one_that_microsofts_own_schema_knows(kind: str) -> None:
    """A misspelt property or value is what a compiler would have found first."""
    mine = [
        (TEXTS[name], each)
        for name, file in FILES.items()
        for each in file.get("resources", {}).values()
        if schema_name(each) == kind and not each["existing"]
    ]
    assert mine
    for text, each in mine:
        assert list(find_faults(find_schema(kind), said_to_azure(each), text)) == []


def test_every_resource_is_held_to_a_schema() -> None:
    assert {schema_name(each) for each in resources() if not each["existing"]} == SCHEMAS.keys() | BY_HAND.keys()


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("triggers: {", "trigger: {", "scaleAndConcurrency.trigger is not known"),
        ("perInstanceConcurrency", "perInstanceConcurency", "http.perInstanceConcurency is not known"),
        ("'UserAssignedIdentity'", "'UserIdentity'", "authentication.type is 'UserIdentity', which must be one of"),
        ("httpsOnly", "httpOnly", "properties.httpOnly is not known"),
        ("instanceCount:", "instances:", "scaleAndConcurrency.alwaysReady.instances is not known"),  # in a condition
        ("location: location", "", "location is missing"),
    ],
)
def test_the_schema_check_finds_a_slip(old: str, new: str, fault: str) -> None:
    text = TEXTS["app.bicep"].replace(old, new)
    assert text != TEXTS["app.bicep"]
    assert fault in "; ".join(list_faults(text, "app"))


@pytest.mark.parametrize(
    ("file", "resource", "old", "new", "fault"),
    [
        (
            "search.bicep",
            "search",
            "'disabled' :",
            "'Disabled' :",
            "publicNetworkAccess is 'Disabled', which must be one",
        ),
        ("storage.bicep", "account", "sku: { name: 'Standard_LRS' }", "", "sku is missing"),
        ("storage.bicep", "account", "'Standard_LRS'", "'Standard_LSR'", "sku.name is 'Standard_LSR'"),
        ("documents.bicep", "mayRead", "principalId:", "principleId:", "properties.principleId is not known"),
        ("network.bicep", "network", "addressPrefix:", "addressRange:", "subnets.properties.addressRange is not known"),
        ("redis.bicep", "cluster", "sku: { name: 'Balanced_B0' }", "", "sku is missing"),
    ],
)
def test_a_slip_is_found_in_every_file(file: str, resource: str, old: str, new: str, fault: str) -> None:
    assert old in TEXTS[file]
    assert fault in "; ".join(list_faults(TEXTS[file].replace(old, new), resource))


def list_faults(text: str, name: str) -> list[str]:
    resource = BicepParser().parse(text=text)["resources"][name]
    return list(find_faults(find_schema(schema_name(resource)), said_to_azure(resource), text))


def find_schema(kind: str) -> Mapping[str, Property]:
    if kind in BY_HAND:
        return BY_HAND[kind]
    package, model = SCHEMAS[kind]
    return read_properties(f"azure.mgmt.{package}", model)


def said_to_azure(resource: Any) -> dict[str, Any]:
    return {name: value for name, value in body(resource).items() if name not in OF_BICEP}


def schema_name(resource: Any) -> str:
    """The type of a resource; of one whose name decides on its properties, with that name."""
    kind = str(resource["type"])
    return f"{kind}/{body(resource)['name']}" if kind == "Microsoft.Web/sites/config" else kind


def allowed(parameter: str) -> list[Any]:
    (said,) = [each for each in MAIN["parameters"][parameter]["decorators"] if each["type"] == "allowed"]
    values: list[Any] = said["argument"]
    return values


@pytest.mark.parametrize(
    ("parameter", "outer", "inner"),
    [("semanticRankerPlan", "properties", "semanticSearch"), ("searchSku", "sku", "name")],
)
def test_every_value_that_a_parameter_allows_is_known(parameter: str, outer: str, inner: str) -> None:
    read = read_properties("azure.mgmt.search", "SearchService")[outer].read
    assert read
    assert set(allowed(parameter)) <= (read()[inner].values or frozenset())


def test_only_memory_that_the_service_accepts_is_allowed() -> None:
    """512 is refused by this version of the API: github.com/Azure/azure-rest-api-specs/issues/40898."""
    assert allowed("instanceMemoryMB") == [2048, 4096]


def test_an_instance_takes_as_many_requests_as_it_may_run() -> None:
    """More of them would be refused by 429, while another instance could have been started."""
    scale = body(FILES["app.bicep"]["resources"]["app"])["properties"]["functionAppConfig"]["scaleAndConcurrency"]
    assert scale["triggers"] == {"http": {"perInstanceConcurrency": "requestsPerInstance"}}
    assert "RAG_MAX_HEAVY_REQUESTS: string(requestsPerInstance)" in TEXTS["main.bicep"]


@pytest.mark.parametrize("name", TEXTS)
def test_a_second_parser_reads_the_same(name: str) -> None:
    """The grammar of tree-sitter-bicep is not pycep's: a slip that both take is less likely."""
    reason = "tree-sitter and tree-sitter-bicep are needed (constraints.txt)"
    tree_sitter = pytest.importorskip("tree_sitter", reason=reason)
    bicep = pytest.importorskip("tree_sitter_bicep", reason=reason)
    parser = tree_sitter.Parser(tree_sitter.Language(bicep.language()))
    root = parser.parse(TEXTS[name].encode()).root_node
    assert not root.has_error
    assert parser.parse(TEXTS[name].replace(" = ", " = = ", 1).encode()).root_node.has_error or " = " not in TEXTS[name]
    for part in ("parameter", "resource", "output", "module"):
        count = len([node for node in root.children if node.type == f"{part}_declaration"])
        assert count == len(FILES[name].get(f"{part}s", {}))
