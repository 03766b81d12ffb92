// undici types these modules only as exports of its entry point, which safe-fetch.ts does not load.
declare module "undici/lib/core/util.js" {}
declare module "undici/lib/core/connect.js" {
	export { buildConnector as default } from "undici";
}
declare module "undici/lib/dispatcher/client.js" {
	export { Client as default } from "undici";
}
declare module "undici/lib/dispatcher/agent.js" {
	export { Agent as default } from "undici";
}
declare module "undici/lib/dispatcher/env-http-proxy-agent.js" {
	export { EnvHttpProxyAgent as default } from "undici";
}
declare module "undici/lib/api/api-request.js" {
	import type { Dispatcher } from "undici";

	const request: Dispatcher["request"];
	export default request;
}
