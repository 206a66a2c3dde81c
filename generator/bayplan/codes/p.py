"""Planning: pools, levels, ComputeDomains, names, ranks."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "P502": "no such pool, or not with that accelerator",
    "P503": "several pools could hold the podSet",
    "P504": "a level that the pool does not have",
    "P505": "one placement over pools with different levels",
    "P506": "a channel claim without the whole node",
    "P507": "a ComputeDomain without an NVLink domain around it",
    "P508": "NVLink between nodes is left unused",
    "P509": "more GPUs than a node has",
    "P510": "two objects with one name",
    "P511": "no command to compute the rank before",
    "P512": "no image for the adopting Job",
    "P513": "gangs of one workload want different kinds",
    "P514": "gangs of one workload differ in what they share",
    "P515": "an object larger than the API server stores",
    "P516": "a preference that no placement can meet",
    "P517": "an elastic podSet below driver 25.8",
    "P518": "a node selector that the proof does not see",
    "P519": "a lead that leaves others running",
    "P520": "a ComputeDomain for groups, asked of a gang",
    "P521": "a ComputeDomain over several NVLink domains",
    "P522": "a rendezvous that may start small",
    "P523": "pods of one template that cannot be cut alike",
}
