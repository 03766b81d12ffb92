/** A local proxy between agents and model providers. It forwards bytes and hands over copies. */

export { LocalProxy, type ProxyOptions, startProxy } from "./proxy.ts";
export { type Upstreams, upstreamsFrom } from "./upstreams.ts";
