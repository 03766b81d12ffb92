/** Results shortened in a session of pi's own session manager, with a real store. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { SessionManager } from "@earendil-works/pi-coding-agent";
import { LiveBirth } from "../../src/birth/live.ts";
import { type Config, loadConfig } from "../../src/core/config.ts";
import { ExcludedValues } from "../../src/core/excluded-values.ts";
import { isCacheAnswer, touchesExcluded } from "../../src/readcache/index.ts";
import { Ledger } from "../../src/session/index.ts";
import { appendCalls, appendResult, newSession } from "../session/sessions.ts";
import { tempDir } from "../support/temp.ts";

/** A call with what its tool returns. */
export interface Answered {
	id: string;
	tool?: string;
	args?: Record<string, string | number>;
	text: string;
	/** Other fields of pi's event. */
	more?: Record<string, unknown>;
}

interface Options {
	birth?: Partial<Config["birth"]>;
	blobs?: Partial<Config["blobs"]>;
	session?: SessionManager;
	cwd?: string;
	blobDir?: string;
}

/** Starts a process on a session; without one on a new session. */
export function startBirth(options: Options = {}) {
	const { session = newSession(), cwd = tempDir(), blobDir = join(tempDir(), "blobs") } = options;
	mkdirSync(cwd, { recursive: true });
	const { config } = loadConfig({ agentDir: join(cwd, "none"), cwd });
	const settings: Config = {
		...config,
		birth: { ...config.birth, ...options.birth },
		blobs: { ...config.blobs, dir: blobDir, ...options.blobs },
	};
	const ledger = new Ledger();
	const values = new ExcludedValues({ root: cwd, exclude: config.readcache.exclude, env: {} });
	const facts = { isCacheAnswer, touchesExcluded };
	const live = new LiveBirth({ config: settings, cwd, ledger, values }, facts);

	const isAsked = (id: string) => JSON.stringify(session.getBranch()).includes(`"id":"${id}"`);

	const send = () => ledger.observe(session, session.buildSessionProjection().messages);

	/** What the live part makes of a result. Sends a request that the call answers, unless it is on the branch. */
	const shorten = ({ id, tool = "read", args = {}, text, more = {} }: Answered) => {
		if (!isAsked(id)) {
			send();
			appendCalls(session, { id, tool, args });
		}
		const content = [{ type: "text", text }];
		const event = { toolCallId: id, toolName: tool, input: args, content, details: undefined };
		return live.shorten({ ...event, isError: false, ...more }, session);
	};
	return {
		session,
		ledger,
		live,
		cwd,
		blobDir,
		settings,
		shorten,
		/** One answer of the model with these calls, and their results. Returns what the model sees of them. */
		async turn(...calls: Answered[]): Promise<string[]> {
			send();
			appendCalls(session, ...calls);
			const changed = await Promise.all(calls.map(shorten));
			return calls.map(({ id, tool = "read", text, more = {} }, at) => {
				const shown = changed[at]?.content[0]?.text ?? text;
				const details = changed[at]?.details ?? more.details;
				appendResult(session, id, shown, {
					toolName: tool,
					...(details !== undefined && { details: details as never }),
					isError: more.isError === true,
				});
				return shown;
			});
		},
	};
}
