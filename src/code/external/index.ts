/** KotaDB as a process of its own, spoken to over MCP, behind the same interface as the embedded index. */
export { type ExternalKota, type ExternalKotaOptions, openExternalKota } from "./external-kota.ts";
