import { statSync } from "node:fs";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { Text } from "@earendil-works/pi-tui";
import type { TurnMessage } from "../code/index.ts";
import { BRIEFING_ENTRY } from "../core/entry-types.ts";
import { inTime } from "../core/in-time.ts";
import { property } from "../core/property.ts";
import { type KotaSession, kotaAsker } from "./kota-session.ts";
import type { ConfigFor } from "./system.ts";

/** How long a prompt waits for its briefing. Indexing that takes longer goes on without it. */
const BRIEFING_MS = 20_000;

/**
 * Adds a briefing to prompts that name one to three files, as `kota.autoContext` says. Whatever goes wrong, the prompt
 * goes through without it, and the user is told once a session.
 */
export function registerBriefings(
	pi: ExtensionAPI,
	session: KotaSession,
	configFor: ConfigFor,
): void {
	let toldOfFailure = false;

	pi.on("session_start", () => {
		toldOfFailure = false;
	});

	pi.on("before_agent_start", async (event, ctx) => {
		const { enabled, autoContext } = configFor(ctx).config.kota;
		// Since pi 1.5 a run can start without a prompt.
		if (!enabled || autoContext === "off" || typeof event.prompt !== "string") return undefined;
		try {
			const content = await inTime(briefingFor(event.prompt, autoContext, ctx), BRIEFING_MS);
			if (!content || isInContext(content, ctx)) return undefined;
			return {
				message: { customType: BRIEFING_ENTRY, content, display: true, details: undefined },
			};
		} catch (error) {
			if (!toldOfFailure) ctx.ui.notify(`kota: no briefing: ${(error as Error).message}`, "info");
			toldOfFailure = true;
			return undefined;
		}
	});

	pi.registerMessageRenderer(BRIEFING_ENTRY, ({ content }, { expanded }, theme) => {
		if (typeof content !== "string") return undefined;
		const lines = content.replace(/[^\P{Cc}\n]/gu, "").split("\n");
		return new Text(
			theme.fg("muted", `kota: ${(expanded ? lines : lines.slice(0, 1)).join("\n")}`),
			1,
			0,
		);
	});

	/** What the briefing for a prompt says; `undefined` if it names no file, or too many. */
	async function briefingFor(
		prompt: string,
		mode: "onPaths" | "always",
		ctx: ExtensionContext,
	): Promise<string | undefined> {
		const { kota, project, paths } = await session.open(ctx);
		const lookup = { paths, isFile };
		const named = kota.namedFiles(prompt, lookup);
		if (named.length > kota.BRIEFED_FILES) {
			const advice = "too many for a briefing; ask for kota_task_context";
			ctx.ui.notify(`kota: the prompt names ${named.length} files, ${advice}`, "info");
			return undefined;
		}
		const files =
			named.length > 0 || mode === "onPaths"
				? named
				: kota.workedOnFiles(messagesOf(ctx), lookup).slice(0, kota.BRIEFED_FILES);
		if (files.length === 0) return undefined;
		try {
			const answer = await project.ask(
				(index, options) => index.taskContext({ files, includeTests: true }, options),
				kotaAsker(ctx, kota, ctx.signal),
			);
			return kota.briefing(answer, paths);
		} catch (error) {
			// A prompt may name files that git ignores.
			if (property(error, "code") === "unknown-file") return undefined;
			throw error;
		}
	}
}

function isFile(path: string): boolean {
	try {
		return statSync(path).isFile();
	} catch {
		return false; // missing, or not ours to look at: a prompt can name anything
	}
}

function messagesOf(ctx: ExtensionContext): TurnMessage[] {
	return ctx.sessionManager
		.getBranch()
		.flatMap((entry) => (entry.type === "message" ? [entry.message as TurnMessage] : []));
}

/** The same briefing once more would tell nothing new. */
function isInContext(content: string, ctx: ExtensionContext): boolean {
	return ctx.sessionManager
		.buildContextEntries()
		.some(
			(entry) =>
				entry.type === "custom_message" &&
				entry.customType === BRIEFING_ENTRY &&
				entry.content === content,
		);
}
