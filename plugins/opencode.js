// A plugin for opencode: results whose lines the model sees already are shortened before they are first sent.
// Add its path to "plugin" in opencode.json; "strata hook opencode --print-settings" prints it.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const STRATA = fileURLToPath(new URL("../bin/strata.js", import.meta.url));

/** An agent does not wait longer for a shorter text. */
const MAX_WAIT_MS = 5_000;

/** Results of a longer session stay as they are. */
const MAX_MESSAGES = 2_000;

/**
 * @param {{ client: any, directory: string }} context
 * @param {{ shadow?: boolean }} [options]
 */
export async function PiStrata({ client, directory }, options) {
	const flags = options?.shadow === true ? ["--shadow"] : [];
	return {
		/**
		 * @param {{ tool: string, sessionID: string, callID: string, args: unknown }} call
		 * @param {{ output?: unknown, metadata?: any }} result
		 */
		"tool.execute.after": async (call, result) => {
			try {
				const { output, metadata } = result;
				// A failed command, and output that is no text, stay as they are.
				if (typeof output !== "string" || (metadata?.exit ?? 0) !== 0) return;
				const { data } = await client.session.messages({ path: { id: call.sessionID } });
				if (!Array.isArray(data) || data.length > MAX_MESSAGES) return;
				const event = { ...call, output, cwd: directory, messages: data };
				const answer = await ask(flags, JSON.stringify(event));
				const short = answer === "" ? undefined : JSON.parse(answer).output;
				if (typeof short === "string" && short !== "") result.output = short;
			} catch {
				// In doubt, the result stays as it is.
			}
		},
	};
}

/**
 * @param {string[]} flags
 * @param {string} event
 * @returns {Promise<string>}
 */
function ask(flags, event) {
	return new Promise((resolve) => {
		const child = spawn("node", [STRATA, "hook", "opencode", ...flags], {
			stdio: ["pipe", "pipe", "ignore"],
			timeout: MAX_WAIT_MS,
		});
		/** @type {Buffer[]} */
		const parts = [];
		child.stdout.on("data", (part) => parts.push(part));
		child.once("error", () => resolve(""));
		child.once("close", (status) => resolve(status === 0 ? Buffer.concat(parts).toString() : ""));
		child.stdin.on("error", () => undefined);
		child.stdin.end(event);
	});
}
