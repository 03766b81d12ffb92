import type { Data } from "../../protocol/index.ts";

export type Question = Extract<
	Data<"ExtensionUiRequest">,
	{ method: "select" | "confirm" | "input" | "editor" }
>;

/** Texts and questions that extensions show around the conversation. Immutable. */
export interface ExtensionUi {
	readonly questions: readonly Question[];
	readonly statuses: ReadonlyMap<string, string>;
	readonly widgets: ReadonlyMap<string, { lines: readonly string[]; isBelow: boolean }>;
	readonly title: string | undefined;
	readonly working: string | undefined;
}

export const NO_UI: ExtensionUi = {
	questions: [],
	statuses: new Map(),
	widgets: new Map(),
	title: undefined,
	working: undefined,
};

/** Maximum number of statuses, widgets and lines per widget, so that an extension does not fill the page. */
const MAX_OF_EACH = 50;

/** The reducer of UI events. Notices and text for the prompt box are shown once, so they are not state. */
export function applyUiEvent(before: ExtensionUi, event: Data<"SessionEvent">): ExtensionUi {
	switch (event.type) {
		case "extension_ui_closed":
			return {
				...before,
				questions: before.questions.filter(({ requestId }) => requestId !== event.requestId),
			};
		case "session_replaced":
			return NO_UI;
		case "agent_settled":
			return { ...before, working: undefined, ...(event.interrupted && { questions: [] }) };
		case "extension_ui_request":
			return applyRequest(before, event);
		default:
			return before;
	}
}

function applyRequest(before: ExtensionUi, request: Data<"ExtensionUiRequest">): ExtensionUi {
	switch (request.method) {
		case "select":
		case "confirm":
		case "input":
		case "editor": {
			const isKnown = before.questions.some(({ requestId }) => requestId === request.requestId);
			return isKnown ? before : { ...before, questions: [...before.questions, request] };
		}
		case "setStatus":
			return {
				...before,
				statuses: withEntry(before.statuses, request.statusKey, request.statusText),
			};
		case "setWidget": {
			const { widgetKey, widgetLines, widgetPlacement } = request;
			const isBelow = widgetPlacement === "belowEditor";
			const widget = widgetLines && { lines: widgetLines.slice(0, MAX_OF_EACH), isBelow };
			return { ...before, widgets: withEntry(before.widgets, widgetKey, widget) };
		}
		case "setTitle":
			return { ...before, title: request.title };
		case "setWorkingMessage":
			return { ...before, working: request.message };
		default:
			return before;
	}
}

function withEntry<Value>(before: ReadonlyMap<string, Value>, key: string, value?: Value) {
	const next = new Map(before);
	if (value === undefined || value === "") next.delete(key);
	else if (next.has(key) || next.size < MAX_OF_EACH) next.set(key, value);
	return next;
}
