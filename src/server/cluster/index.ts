export { handOver } from "./hand-over.ts";
export { Membership } from "./join-cluster.ts";
export { withServers } from "./server-views.ts";
