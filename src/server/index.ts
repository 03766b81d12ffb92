export { DEFAULT_LIMITS, limitsFrom, type ServerLimits } from "./limits.ts";
export type { ServerOptions } from "./options.ts";
export { type RunningServer, startServer } from "./serve.ts";
export { claimStdio, type Stdio } from "./transports/line-transports.ts";
