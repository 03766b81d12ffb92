import type { ComponentChildren } from "preact";
import { Fold } from "../parts/fold.tsx";
import { LongText, PlainText } from "../parts/text.tsx";
import { callSummary, type Edit, editsOf } from "./call-summary.ts";
import type { ToolCall } from "./items.ts";

interface ToolCallRowProps {
	call: ToolCall;
	pictures: ComponentChildren;
	isOpen: boolean;
	onToggle(isOpen: boolean): void;
}

const WORDS: Record<ToolCall["state"], string> = {
	writing: "writing…",
	waiting: "waiting",
	running: "running…",
	done: "",
	failed: "failed",
	lost: "no result",
};

export function ToolCallRow({ call, pictures, isOpen, onToggle }: ToolCallRowProps) {
	const isSilent = call.state === "done" && call.output === "" && call.pictures.length === 0;
	const summary = (
		<>
			<PlainText class="call-name" text={call.name || "tool"} most={80} />{" "}
			<PlainText as="code" text={callSummary(call)} />{" "}
			<span class="small call-state">{WORDS[call.state]}</span>
		</>
	);
	return (
		<Fold class={`call is-${call.state}`} summary={summary} isOpen={isOpen} onToggle={onToggle}>
			<Arguments call={call} />
			{call.output !== "" && (
				<>
					<h2 class="small soft">{call.state === "failed" ? "Error" : "Result"}</h2>
					<LongText text={call.output} />
				</>
			)}
			{pictures}
			{isSilent && <p class="small soft">No output.</p>}
		</Fold>
	);
}

function Arguments({ call }: { call: ToolCall }) {
	const edits = editsOf(call.args);
	const text = call.args === undefined ? call.argsText : JSON.stringify(call.args, undefined, 2);
	return (
		<>
			<h2 class="small soft">Arguments</h2>
			{edits.length > 0 ? (
				edits.map((edit, at) => <EditView key={at} edit={edit} />)
			) : (
				<LongText text={text} lines={12} />
			)}
		</>
	);
}

function EditView({ edit }: { edit: Edit }) {
	return (
		<div class="edit">
			<div class="edit-old">
				<span class="hidden-text">Before:</span>
				<LongText text={edit.oldText} lines={12} />
			</div>
			<div class="edit-new">
				<span class="hidden-text">After:</span>
				<LongText text={edit.newText} lines={12} />
			</div>
		</div>
	);
}
