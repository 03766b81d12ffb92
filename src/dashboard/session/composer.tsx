import { useEffect, useRef } from "preact/hooks";
import { useAnswer } from "../answer.ts";
import { client, connectionState } from "../connection/connection.ts";
import { Button, submitHandler } from "../parts/controls.tsx";
import { orToast, toast, useToastsAbove } from "../parts/notices.tsx";
import { LongText, PlainText, visibleString } from "../parts/text.tsx";
import { AttachmentList } from "./attachments.tsx";
import { type ComposerState, composerStateOf } from "./composer-state.ts";
import type { StreamingBehavior } from "./input-command.ts";
import type { OpenSession } from "./open-session.ts";
import type { Outbox, Outgoing } from "./outbox.ts";
import { PromptBox } from "./prompt-box.tsx";

export interface ComposerProps extends ComposerState {
	readonly session: OpenSession;
	onSend(): void;
}

export function Composer({ session, draft, attachments, outbox, onSend }: ComposerProps) {
	const { sessionId } = session;
	const { isRunning, isCompacting } = session.conversation.value;
	const form = useRef<HTMLFormElement>(null);
	useToastsAbove(form);
	const isBlank = draft.text.value.trim() === "";
	const hasShell =
		session.state.value?.isBashRunning || outbox.shell.value.some(({ result }) => !result);
	const abort = (type: "abort" | "abort_bash" | "abort_compaction") => () =>
		void orToast(client().request(type, { sessionId }));

	function send(how: StreamingBehavior): void {
		if (isBlank) return;
		// Without a connection the state is unknown: after a reconnect the session may be running.
		const mayRun = isRunning || connectionState.value.name !== "open";
		const images = attachments.images.value.map(({ image }) => image);
		composerStateOf(session.sessionId).origin = session.state.peek();
		const refusal = outbox.send(draft.text.value, mayRun ? how : undefined, images);
		if (refusal === undefined) {
			draft.text.value = "";
			attachments.images.value = [];
			onSend();
		} else toast(refusal, "warning");
	}

	const stop = hasShell
		? abort("abort_bash")
		: isRunning
			? abort("abort")
			: isCompacting
				? abort("abort_compaction")
				: undefined;
	useStopKey(stop);

	return (
		<form
			ref={form}
			class="composer stack"
			aria-label="Prompt"
			onSubmit={submitHandler(() => send("steer"))}
		>
			<Widgets session={session} isBelow={false} />
			<Sending outbox={outbox} />
			<Waiting outbox={outbox} />
			<Queue session={session} draft={draft} />
			<AttachmentList attachments={attachments} />
			<PromptBox
				session={session}
				draft={draft}
				attachments={attachments}
				placeholder={isRunning ? "Steer the agent" : "Message, @file, !shell or /command"}
				onSend={send}
				{...(stop && { onEscape: stop })}
			/>
			<div class="composer-bar row">
				<Pickers session={session} />
				<span class="composer-buttons line">
					{isCompacting && <Button onClick={abort("abort_compaction")} label="Stop compacting" />}
					{hasShell && (
						<Button
							class="danger"
							title="Stop the shell command (Escape)"
							onClick={abort("abort_bash")}
							label="Stop command"
						/>
					)}
					{isRunning && (
						<Button
							class="danger"
							title={hasShell ? "Stop the run" : "Stop the run (Escape)"}
							onClick={abort("abort")}
							label="Stop"
						/>
					)}
					{isRunning && (
						<Button
							disabled={isBlank}
							title="Send when the run has finished (Alt+Enter)"
							onClick={() => send("followUp")}
							label="Follow up"
						/>
					)}
					<Button
						type="submit"
						class="primary"
						disabled={isBlank}
						title={
							isRunning
								? "Send now, before the agent's next step (Enter)"
								: "Enter to send, Shift+Enter for a new line"
						}
						label={isRunning ? "Steer" : "Send"}
					/>
				</span>
			</div>
			<Widgets session={session} isBelow={true} />
			<Statuses session={session} />
		</form>
	);
}

/** Escape stops what runs, wherever the focus is, unless something else takes the key. */
function useStopKey(stop: (() => void) | undefined): void {
	const latest = useRef(stop);
	latest.current = stop;
	useEffect(() => {
		const onKeyDown = (event: KeyboardEvent) => {
			if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
			if (document.querySelector("dialog[open], .find")) return;
			latest.current?.();
		};
		addEventListener("keydown", onKeyDown);
		return () => removeEventListener("keydown", onKeyDown);
	}, []);
}

/** What was just sent, above the box, so that nothing moves. It is gone when the server has accepted it. */
function Sending({ outbox }: { outbox: Outbox }) {
	const texts = outbox.sending.value;
	if (texts.length === 0) return null;
	return (
		<div class="sending" role="status">
			<Texts label="Being sent" texts={texts.map(({ text }) => ["Sending…", text] as const)} />
		</div>
	);
}

function Waiting({ outbox }: { outbox: Outbox }) {
	const isOpen = connectionState.value.name === "open";
	const stateOf = ({ isSent }: Outgoing) =>
		isOpen ? "Sending…" : isSent ? "Waiting for a reply" : "Waiting for the server";
	const texts = outbox.waiting.value.map((one) => [stateOf(one), one.text] as const);
	if (texts.length === 0) return null;
	return (
		<div class="queue line" role="status">
			<Texts label="Waiting to be sent" texts={texts} />
		</div>
	);
}

function Queue({ session, draft }: Pick<ComposerProps, "session" | "draft">) {
	const { steering, followUp } = session.conversation.value.queue;
	if (steering.length + followUp.length === 0) return null;
	const texts = [
		...steering.map((text) => ["Steering", text] as const),
		...followUp.map((text) => ["Follow-up", text] as const),
	];
	const takeBack = async () => {
		const { sessionId } = session;
		const answer = await orToast(client().request("clear_queue", { sessionId }));
		const taken = answer && [...answer.data.steering, ...answer.data.followUp];
		if (taken?.length) draft.prepend(taken.join("\n"));
	};
	return (
		<div class="queue line">
			<Texts label="Queued messages" texts={texts} />
			<Button class="small" onClick={() => void takeBack()} label="Take back" />
		</div>
	);
}

function Texts({ label, texts }: { label: string; texts: readonly (readonly [string, string])[] }) {
	return (
		<ul class="plain-list" aria-label={label}>
			{texts.map(([state, text], at) => (
				<li key={at}>
					<span class="small soft">{state}</span> <PlainText text={text} max={160} />
				</li>
			))}
		</ul>
	);
}

function Widgets({ session, isBelow }: { session: OpenSession; isBelow: boolean }) {
	const shown = [...session.ui.value.widgets].filter(([, widget]) => widget.isBelow === isBelow);
	return (
		<>
			{shown.map(([key, { lines }]) => (
				<div key={key} class="widget">
					<LongText text={lines.join("\n")} lines={8} />
				</div>
			))}
		</>
	);
}

function Statuses({ session }: { session: OpenSession }) {
	// In one order, whichever came first: a status must not change places.
	const statuses = [...session.ui.value.statuses].sort(([a], [b]) => (a < b ? -1 : 1));
	if (statuses.length === 0) return null;
	return (
		<ul
			class="statuses row plain-list small soft"
			aria-label="Extension status"
			// biome-ignore lint/a11y/noNoninteractiveTabindex: on a phone the list must scroll by keyboard
			tabIndex={0}
		>
			{statuses.map(([key, text]) => (
				<li key={key}>
					<PlainText text={text} max={200} />
				</li>
			))}
		</ul>
	);
}

function Pickers({ session }: { session: OpenSession }) {
	const { sessionId } = session;
	const state = session.state.value;
	const current = state?.model && nameOf(state.model);
	const fields = state && { sessionId };
	const known = useAnswer("get_available_models", fields).data?.models ?? [];
	const levels = useAnswer("get_available_thinking_levels", fields, current).data?.levels ?? [];
	if (!state) return <span />;
	const isKnown = known.some((model) => nameOf(model) === current);
	const offered = state.model && !isKnown ? [state.model, ...known] : known;
	function pickModel(name: string): void {
		const chosen = offered.find((model) => nameOf(model) === name);
		if (!chosen) return;
		const { provider, id } = chosen;
		void orToast(client().request("set_model", { sessionId, provider, modelId: id }));
	}
	const pickLevel = (name: string) => {
		const level = name as typeof state.thinkingLevel;
		void orToast(client().request("set_thinking_level", { sessionId, level }));
	};
	const models = offered.map((model) => [nameOf(model), visibleString(nameOf(model))] as const);
	return (
		<span class="pickers row">
			<Picker
				label="Model"
				value={current ?? ""}
				options={current ? models : [["", "No model"], ...models]}
				onPick={pickModel}
			/>
			{levels.length > 1 && (
				<Picker
					label="Thinking"
					value={state.thinkingLevel}
					options={levels.map((level) => [level, `thinking: ${level}`])}
					onPick={pickLevel}
				/>
			)}
		</span>
	);
}

interface PickerProps {
	readonly label: string;
	readonly value: string;
	readonly options: readonly (readonly [value: string, text: string])[];
	onPick(value: string): void;
}

function Picker({ label, value, options, onPick }: PickerProps) {
	return (
		<select
			aria-label={label}
			value={value}
			onChange={(event) => onPick(event.currentTarget.value)}
		>
			{options.map(([option, text]) => (
				<option key={option} value={option}>
					{text}
				</option>
			))}
		</select>
	);
}

function nameOf({ provider, id }: { provider: string; id: string }): string {
	return `${provider}/${id}`;
}
