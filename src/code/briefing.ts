import { statSync } from "node:fs";
import { BRIEFING_ENTRY } from "../core/entry-types.ts";
import { inTime } from "../core/in-time.ts";
import { property } from "../core/property.ts";
import type { SessionView, System } from "../session/index.ts";
import { type KotaSession, kotaAsker } from "./open-project.ts";

/** A prompt waits this long for its briefing. Slower indexing continues in the background. */
const BRIEFING_MS = 20_000;

/** Briefs prompts that name one to three files. Errors notify once a session. */
export function createBriefings(
	kotaSession: KotaSession,
): Required<Pick<System, "start" | "onPrompt">> {
	let isFailureReported = false;

	return {
		start() {
			isFailureReported = false;
		},
		async onPrompt(prompt, session) {
			const { enabled, autoContext } = session.config.kota;
			if (!enabled || autoContext === "off" || prompt === undefined) return undefined;
			try {
				const content = await inTime(briefingFor(prompt, autoContext, session), BRIEFING_MS);
				if (!content || isInContext(content, session)) return undefined;
				return { customType: BRIEFING_ENTRY, content, display: true, details: undefined };
			} catch (error) {
				if (!isFailureReported) {
					session.ui.notify(`kota: no briefing: ${(error as Error).message}`, "info");
				}
				isFailureReported = true;
				return undefined;
			}
		},
	};

	async function briefingFor(
		prompt: string,
		mode: "onPaths" | "always",
		session: SessionView,
	): Promise<string | undefined> {
		const { kota, project, paths } = await kotaSession.open(session);
		const lookup = { paths, isFile };
		const files = kota.filesToBrief(prompt, mode, () => messagesOf(session), lookup);
		if (typeof files === "number") {
			const advice = "too many for a briefing; ask for kota_task_context";
			session.ui.notify(`kota: the prompt names ${files} files, ${advice}`, "info");
			return undefined;
		}
		if (files.length === 0) return undefined;
		try {
			const query = { files, includeTests: true };
			const asker = kotaAsker(session, kota, session.signal);
			const answer = await project.ask("taskContext", query, asker);
			return kota.briefing(answer, paths);
		} catch (error) {
			// A prompt may name git-ignored files.
			if (property(error, "code") === "unknown-file") return undefined;
			throw error;
		}
	}
}

function isFile(path: string): boolean {
	try {
		return statSync(path).isFile();
	} catch {
		return false; // missing or unreadable: a prompt can name anything
	}
}

function messagesOf(session: SessionView) {
	return session.sessionManager
		.getBranch()
		.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
}

/** A repeated briefing adds nothing. */
function isInContext(content: string, session: SessionView): boolean {
	return session.sessionManager
		.buildContextEntries()
		.some(
			(entry) =>
				entry.type === "custom_message" &&
				entry.customType === BRIEFING_ENTRY &&
				entry.content === content,
		);
}
