/**
 * The pi extension, for programs that run pi through its SDK. `pi install` does not need this module, since
 * pi finds the extension through `package.json`. The default export registers pi-strata's tools and commands
 * with one session. All state belongs to that session, so a process may run several.
 * Settings come from `strata.json`, as in pi. Requires the peer dependency
 * `@earendil-works/pi-coding-agent`.
 *
 * @example
 * A session of pi with pi-strata in it. `/strata` prints every system, and whether it is on.
 * ```ts
 * import {
 * 	createAgentSession,
 * 	DefaultResourceLoader,
 * 	getAgentDir,
 * 	SessionManager,
 * } from "@earendil-works/pi-coding-agent";
 * import strata from "pi-strata";
 *
 * const resourceLoader = new DefaultResourceLoader({
 * 	cwd: process.cwd(),
 * 	agentDir: getAgentDir(),
 * 	extensionFactories: [strata],
 * });
 * await resourceLoader.reload();
 * const sessionManager = SessionManager.inMemory();
 * const { session } = await createAgentSession({ resourceLoader, sessionManager });
 * await session.bindExtensions({ mode: "print" });
 * await session.prompt("/strata");
 * session.dispose();
 * ```
 */
export { default } from "../extension/index.ts";
