"""infra/ against the resource schemas of Microsoft's management packages, read by two parsers."""

from typing import Any

import pytest
from pycep import BicepParser

from tests.management_schema import find_faults, read_properties
from tests.test_infra import FILES, MAIN, TEXTS, body, resources

SCHEMAS = {  # by type of resource: the management package and its model
    "Microsoft.Storage/storageAccounts": ("storage", "StorageAccount"),
    "Microsoft.Storage/storageAccounts/blobServices": ("storage", "BlobServiceProperties"),
    "Microsoft.OperationalInsights/workspaces": ("loganalytics", "Workspace"),
    "Microsoft.Insights/components": ("applicationinsights", "ApplicationInsightsComponent"),
    "Microsoft.Insights/workbooks": ("applicationinsights.v2023_06_01", "Workbook"),
    "Microsoft.Search/searchServices": ("search", "SearchService"),
    "Microsoft.CognitiveServices/accounts": ("cognitiveservices", "Account"),
    "Microsoft.CognitiveServices/accounts/deployments": ("cognitiveservices", "Deployment"),
    "Microsoft.DBforPostgreSQL/flexibleServers": ("postgresqlflexibleservers", "Server"),
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
    "Microsoft.Network/privateDnsZones/virtualNetworkLinks": ("privatedns", "VirtualNetworkLink"),
    "Microsoft.Web/serverfarms": ("web", "AppServicePlan"),
    "Microsoft.Web/sites": ("web", "Site"),
    "Microsoft.Web/sites/config/authsettingsV2": ("web", "SiteAuthSettingsV2"),
    "Microsoft.Web/sites/basicPublishingCredentialsPolicies": ("web", "CsmPublishingCredentialsPoliciesEntity"),
}
WITHOUT_SCHEMA = {  # of no property, or of packages that carry no models of ours
    "Microsoft.Authorization/roleAssignments",
    "Microsoft.DBforPostgreSQL/flexibleServers/databases",
    "Microsoft.ManagedIdentity/userAssignedIdentities",
    "Microsoft.Network/privateDnsZones",
    "Microsoft.Resources/resourceGroups",
    "Microsoft.Storage/storageAccounts/blobServices/containers",
    "Microsoft.Storage/storageAccounts/queueServices",
    "Microsoft.Storage/storageAccounts/queueServices/queues",
    "Microsoft.Storage/storageAccounts/tableServices",
    "Microsoft.Storage/storageAccounts/tableServices/tables",
    "Microsoft.Web/sites/config/appsettings",
}
OF_BICEP = {"name", "parent", "scope", "depends_on", "dependsOn"}  # said to the compiler, not to the service


@pytest.mark.parametrize("kind", SCHEMAS)
def test_every_property_and_value_is_one_that_microsofts_own_schema_knows(kind: str) -> None:
    """A misspelt property or value is what a compiler would have found first."""
    package, model = SCHEMAS[kind]
    mine = [
        (TEXTS[name], each)
        for name, file in FILES.items()
        for each in file.get("resources", {}).values()
        if schema_name(each) == kind and not each["existing"]
    ]
    assert mine
    for text, each in mine:
        assert list(find_faults(read_properties(f"azure.mgmt.{package}", model), said_to_azure(each), text)) == []


def test_every_resource_is_held_to_a_schema() -> None:
    made = {schema_name(each) for each in resources() if not each["existing"]}
    assert made - set(SCHEMAS) == WITHOUT_SCHEMA


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("triggers: {", "trigger: {", "scaleAndConcurrency.trigger is not known"),
        ("perInstanceConcurrency", "perInstanceConcurency", "http.perInstanceConcurency is not known"),
        ("'UserAssignedIdentity'", "'UserIdentity'", "authentication.type is 'UserIdentity', which must be one of"),
        ("httpsOnly", "httpOnly", "properties.httpOnly is not known"),
    ],
)
def test_the_schema_check_finds_a_slip(old: str, new: str, fault: str) -> None:
    text = TEXTS["app.bicep"].replace(old, new)
    said = said_to_azure(BicepParser().parse(text=text)["resources"]["app"])
    assert fault in "; ".join(find_faults(read_properties("azure.mgmt.web", "Site"), said, text))


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
