export { ClusterMember } from "./cluster-member.ts";
export { handOver } from "./hand-over.ts";
export { withServers } from "./server-views.ts";
