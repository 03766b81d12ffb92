import { useRef } from "preact/hooks";
import { useAnswer } from "../answer.ts";
import { client, connectionState } from "../connection/connection.ts";
import { Button } from "../parts/controls.tsx";
import { LongText, PlainText } from "../parts/text.tsx";
import { reporting, toast, useToastsAbove } from "../parts/toasts.tsx";
import { visibleString } from "../parts/visible-text.ts";
import type { Desk } from "./desk.ts";
import type { OpenSession } from "./open-session.ts";
import type { Outbox, Outgoing } from "./outbox.ts";
import { PromptBox } from "./prompt-box.tsx";

interface ComposerProps extends Desk {
	session: OpenSession;
	onSend(): void;
}

/** The prompt box with the queue, extension widgets, model pickers and buttons. */
export function Composer({ session, draft, outbox, onSend }: ComposerProps) {
	const { sessionId } = session;
	const { isRunning, isCompacting } = session.conversation.value;
	const form = useRef<HTMLFormElement>(null);
	useToastsAbove(form);
	const isBlank = draft.text.value.trim() === "";
	const hasShell =
		session.state.value?.isBashRunning || outbox.shell.value.some(({ result }) => !result);
	const stopShell = () => void reporting(client().request("abort_bash", { sessionId }));

	function send(how: "steer" | "followUp"): void {
		if (isBlank) return;
		// After a reconnect the session may run.
		const mayRun = isRunning || connectionState.value.name !== "open";
		const refusal = outbox.send(draft.text.value, mayRun ? how : undefined);
		if (refusal !== undefined) {
			toast(refusal, "warning");
			return;
		}
		draft.text.value = "";
		onSend();
	}

	return (
		<form
			ref={form}
			class="composer"
			aria-label="Prompt"
			onSubmit={(event) => {
				event.preventDefault();
				send("steer");
			}}
		>
			<Widgets session={session} isBelow={false} />
			<Waiting outbox={outbox} />
			<Queue session={session} draft={draft} />
			<PromptBox
				session={session}
				draft={draft}
				placeholder={isRunning ? "Say something to steer it" : "Message, !shell or /command"}
				onSend={send}
				{...(hasShell && { onEscape: stopShell })}
			/>
			<div class="composer-bar row">
				<Pickers session={session} />
				<span class="composer-buttons">
					{isCompacting && (
						<Button
							onClick={() => void reporting(client().request("abort_compaction", { sessionId }))}
							words="Stop compacting"
						/>
					)}
					{hasShell && (
						<Button
							class="danger"
							title="Stop the shell command (Escape)"
							onClick={stopShell}
							words="Stop command"
						/>
					)}
					{isRunning && (
						<Button
							class="danger"
							onClick={() => void reporting(client().request("abort", { sessionId }))}
							words="Stop"
						/>
					)}
					{isRunning && (
						<Button
							disabled={isBlank}
							title="Say it when the run is over (Alt+Enter)"
							onClick={() => send("followUp")}
							words="Follow up"
						/>
					)}
					<Button
						type="submit"
						class="primary"
						disabled={isBlank}
						title={
							isRunning
								? "Say it now, between two steps (Enter)"
								: "Enter sends, Shift+Enter is a new line"
						}
						words={isRunning ? "Steer" : "Send"}
					/>
				</span>
			</div>
			<Widgets session={session} isBelow={true} />
			<Statuses session={session} />
		</form>
	);
}

/** What is sent once there is a connection. */
function Waiting({ outbox }: { outbox: Outbox }) {
	const waiting = outbox.waiting.value;
	if (waiting.length === 0) return null;
	const isOpen = connectionState.value.name === "open";
	const words = ({ isSent }: Outgoing) =>
		isOpen ? "Sending…" : isSent ? "Waiting for an answer" : "Waiting for the server";
	return (
		<div class="queue" role="status">
			<ul class="plain-list" aria-label="Waiting to be sent">
				{waiting.map((one) => (
					<li key={one.id}>
						<span class="small soft">{words(one)}</span> <PlainText text={one.text} most={160} />
					</li>
				))}
			</ul>
		</div>
	);
}

function Queue({ session, draft }: Pick<ComposerProps, "session" | "draft">) {
	const { steering, followUp } = session.conversation.value.queue;
	if (steering.length + followUp.length === 0) return null;
	const takeBack = async () => {
		const { sessionId } = session;
		const answer = await reporting(client().request("clear_queue", { sessionId }));
		const texts = answer && [...answer.data.steering, ...answer.data.followUp];
		if (texts?.length) draft.place(texts.join("\n"));
	};
	return (
		<div class="queue">
			<ul class="plain-list" aria-label="Waiting to be said">
				{[
					...steering.map((text) => ({ how: "Steers", text })),
					...followUp.map((text) => ({ how: "Follows", text })),
				].map(({ how, text }, at) => (
					<li key={at}>
						<span class="small soft">{how}</span> <PlainText text={text} most={160} />
					</li>
				))}
			</ul>
			<Button class="small" onClick={() => void takeBack()} words="Take back" />
		</div>
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
	const statuses = [...session.ui.value.statuses];
	if (statuses.length === 0) return null;
	return (
		<ul
			class="statuses plain-list small soft"
			aria-label="What extensions say"
			// biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls on a phone must be reachable by keyboard
			tabIndex={0}
		>
			{statuses.map(([key, text]) => (
				<li key={key}>
					<PlainText text={text} most={200} />
				</li>
			))}
		</ul>
	);
}

type ThinkingLevel = NonNullable<OpenSession["state"]["value"]>["thinkingLevel"];

function Pickers({ session }: { session: OpenSession }) {
	const { sessionId } = session;
	const state = session.state.value;
	const current = state?.model && nameOf(state.model);
	const isReady = state !== undefined;
	const models = useAnswer("get_available_models", isReady ? { sessionId } : undefined).data
		?.models;
	const levels = useAnswer(
		"get_available_thinking_levels",
		isReady ? { sessionId } : undefined,
		current,
	).data?.levels;
	if (!state) return <span class="pickers" />;
	const known = models ?? [];
	const offered =
		state.model && !known.some((model) => nameOf(model) === current)
			? [state.model, ...known]
			: known;
	return (
		<span class="pickers">
			<select
				aria-label="Model"
				value={current ?? ""}
				onChange={(event) => {
					const chosen = offered.find((model) => nameOf(model) === event.currentTarget.value);
					if (!chosen) return;
					const { provider, id } = chosen;
					void reporting(client().request("set_model", { sessionId, provider, modelId: id }));
				}}
			>
				{!current && <option value="">No model</option>}
				{offered.map((model) => (
					<option key={nameOf(model)} value={nameOf(model)}>
						{visibleString(nameOf(model))}
					</option>
				))}
			</select>
			{(levels?.length ?? 0) > 1 && (
				<select
					aria-label="Thinking"
					value={state.thinkingLevel}
					onChange={(event) => {
						const level = event.currentTarget.value as ThinkingLevel;
						void reporting(client().request("set_thinking_level", { sessionId, level }));
					}}
				>
					{levels?.map((level) => (
						<option key={level} value={level}>
							thinking: {level}
						</option>
					))}
				</select>
			)}
		</span>
	);
}

function nameOf({ provider, id }: { provider: string; id: string }): string {
	return `${provider}/${id}`;
}
