import { connect } from "node:net";
import { packageFolder } from "../core/package-info.ts";
import { agentFolder } from "../core/places.ts";
import { startCommand, type Wish } from "../setup/index.ts";
import type { Terminal } from "./command.ts";
import { HOOK_MATCHER, pluginUrl, readPermission } from "./hook.ts";

/** The machine as `strata setup` and `strata doctor` see it. */
export function machineOf({ env }: Pick<Terminal, "env">) {
	return { env, platform: process.platform, piFolder: agentFolder(env) };
}

/** What setup wants in agents' configurations, for this installation of strata. */
export function wishOf(
	terminal: Pick<Terminal, "env" | "cwd">,
	asked: Pick<Wish, "savings" | "proxy"> = {},
): Wish {
	const { env } = terminal;
	const { platform, execPath } = process;
	const folder = packageFolder();
	return {
		words: startCommand({ execPath, packageFolder: folder, env, platform }),
		...{ platform, ...asked, hookMatcher: HOOK_MATCHER, readPermission: readPermission(terminal) },
		...{ pluginUrl: pluginUrl(), packageFolder: folder },
	};
}

const CONNECT_MS = 2_000;

/** Whether something listens at the port of an address on this machine. */
export function isListening(address: string): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = connect({ host: "127.0.0.1", port: Number(new URL(address).port) });
		const end = (answer: boolean) => {
			socket.destroy();
			resolve(answer);
		};
		socket.setTimeout(CONNECT_MS, () => end(false));
		socket.once("connect", () => end(true)).once("error", () => end(false));
	});
}
