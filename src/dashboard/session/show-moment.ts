import type { SessionEvent } from "../../protocol/index.ts";
import { toast } from "../parts/toasts.tsx";
import type { Draft } from "./draft.ts";

/** Shows what an extension tells once: a notice, or text for the prompt box. */
export function showMoment(event: SessionEvent, draft: Draft): void {
	if (event.type !== "extension_ui_request") return;
	if (event.method === "notify") toast(event.message, event.notifyType ?? "info");
	if (event.method === "set_editor_text") draft.place(event.text);
}
