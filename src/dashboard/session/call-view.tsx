import { useMemo } from "preact/hooks";
import { Fold } from "../parts/controls.tsx";
import { CopyButton } from "../parts/copy-button.tsx";
import { Diff } from "../parts/diff.tsx";
import { hunksOf, numberedLines, replacementLines } from "../parts/patch.ts";
import { syntaxOf } from "../parts/syntax.ts";
import { LongText, PlainText } from "../parts/text.tsx";
import { callSummary, editsOf, type ToolCall } from "./items.ts";
import { Effect, type FoldState, Pictures, type RowActions } from "./row-parts.tsx";

const STATES: Record<ToolCall["state"], string> = {
	writing: "writing…",
	waiting: "waiting",
	running: "running…",
	done: "",
	failed: "",
	lost: "no result",
};

/** A call on one line with its effect; unfolded, with its arguments and its result. */
export function Call(props: { call: ToolCall; fold: FoldState; actions: RowActions }) {
	const { call, fold, actions } = props;
	const { name, state, effect } = call;
	const words = [STATES[state], ...effect].filter(Boolean);
	const summary = (
		<>
			<PlainText class="call-name small" text={name || "tool"} max={80} />{" "}
			<PlainText as="code" text={callSummary(call)} />
			<Effect words={words} />
		</>
	);
	return (
		<Fold class={`call is-${state}`} summary={summary} {...fold}>
			<Inside call={call} actions={actions} />
		</Fold>
	);
}

function Inside({ call, actions }: { call: ToolCall; actions: RowActions }) {
	const { state, output, pictures } = call;
	const syntax = call.name === "read" ? syntaxOf(callSummary(call)) : undefined;
	return (
		<>
			<Arguments call={call} />
			{output !== "" && (
				<div class="part-head line">
					<h2 class="small soft">{state === "failed" ? "Error" : "Result"}</h2>
					<CopyButton text={output} what="the result" />
				</div>
			)}
			{output !== "" && <LongText text={output} syntax={syntax} />}
			<Pictures pictures={pictures} actions={actions} />
			{state === "done" && output === "" && pictures.length === 0 && (
				<p class="small soft">No output.</p>
			)}
		</>
	);
}

/** An edit as a diff, a command and a written file as their text, all else as JSON. */
function Arguments({ call }: { call: ToolCall }) {
	const { args, argsText, patch } = call;
	const lines = useMemo(() => {
		const hunks = patch === undefined ? undefined : hunksOf(patch);
		if (hunks) return numberedLines(hunks);
		return editsOf(args).flatMap(({ oldText, newText }) => replacementLines(oldText, newText));
	}, [patch, args]);
	const given = (typeof args === "object" && args !== null ? args : {}) as Record<string, unknown>;
	const path = typeof given.path === "string" ? given.path : "";
	if (lines.length > 0) {
		return (
			<>
				<div class="part-head line">
					<h2 class="small soft">Changes</h2>
					{patch !== undefined && <CopyButton text={patch} what="the diff" />}
				</div>
				<Diff lines={lines} syntax={syntaxOf(path)} />
			</>
		);
	}
	const { title, text, syntax } = mainText(given, path) ?? {
		title: "Arguments",
		text: args === undefined ? argsText : JSON.stringify(args, undefined, 2),
		syntax: syntaxOf("json"),
	};
	return (
		<>
			<div class="part-head line">
				<h2 class="small soft">{title}</h2>
				<CopyButton text={text} what={`the ${title.toLowerCase()}`} />
			</div>
			<LongText text={text} lines={12} syntax={syntax} />
		</>
	);
}

/** The argument that says all: the command of a shell, or the text that a write wrote. */
function mainText({ command, content, ...rest }: Record<string, unknown>, path: string) {
	const others = Object.keys(rest).filter((key) => key !== "path");
	if (others.length > 0) return undefined;
	if (typeof command === "string" && content === undefined && path === "") {
		return { title: "Command", text: command, syntax: syntaxOf("sh") };
	}
	if (typeof content !== "string" || command !== undefined || path === "") return undefined;
	return { title: "Text", text: content, syntax: syntaxOf(path) };
}
