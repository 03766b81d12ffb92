import type { AgentSession } from "@earendil-works/pi-coding-agent";
import { getOrAdd } from "../../core/get-or-add.ts";
import type { Data } from "../../protocol/index.ts";
import type { SessionRecord } from "../journal/journal.ts";
import { isTrusted, type PiOptions } from "./pi-runtime.ts";
import { parseSettings, type StoredSettings } from "./stored-settings.ts";

/** What clients see of a session, open or not. */
export function infoOf(
	record: SessionRecord,
	live: { readonly session: AgentSession; readonly isStreaming: boolean } | undefined,
	pi: PiOptions,
): Omit<Data<"SessionInfo">, "watched"> {
	const { id, file, cwd } = record;
	const { settings, createdAt } = parsedRecord(record);
	const { name, model: stored, watches } = settings;
	const { modelRuntime } = pi;
	const session = live?.session;
	const model = session?.model ?? (stored && modelRuntime.getModel(stored.provider, stored.id));
	const level = session?.thinkingLevel ?? settings.thinkingLevel ?? "off";
	return {
		sessionId: id,
		...(name && { sessionName: name }),
		...((watches ?? file) && { sessionFile: watches ?? file }),
		cwd,
		...(isTrusted(settings, cwd, pi) && { projectTrusted: true }),
		...(model && { model: modelView(model) }),
		thinkingLevel: level as Data<"SessionInfo">["thinkingLevel"],
		isStreaming: live?.isStreaming ?? false,
		messageCount: session?.messages.length ?? settings.messageCount ?? 0,
		createdAt,
	};
}

const parsedRecords = new WeakMap<SessionRecord, { settings: StoredSettings; createdAt: string }>();

/** Memoized: every listing needs it. */
function parsedRecord(record: SessionRecord) {
	return getOrAdd(parsedRecords, record, () => ({
		settings: parseSettings(record.settings),
		createdAt: new Date(record.createdAtMs).toISOString(),
	}));
}

type PiModel = NonNullable<AgentSession["model"]>;

const modelViews = new WeakMap<PiModel, Data<"Model">>();

/** The model without addresses and headers, which may hold keys. Memoized. */
export function modelView(model: PiModel): Data<"Model"> {
	return getOrAdd(modelViews, model, () => {
		const { id, name, provider, api, reasoning, input, contextWindow, maxTokens, cost } = model;
		return { id, name, provider, api, reasoning, input, contextWindow, maxTokens, cost };
	});
}
