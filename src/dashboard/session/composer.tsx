import { useRef } from "preact/hooks";
import { client } from "../connection/connection.ts";
import { LongText } from "../parts/long-text.tsx";
import { reporting } from "../parts/reporting.ts";
import { PlainText } from "../parts/text.tsx";
import { useToastsAbove } from "../parts/toasts.tsx";
import type { Draft } from "./draft.ts";
import type { OpenSession } from "./open-session.ts";
import { Pickers } from "./pickers.tsx";
import { PromptBox } from "./prompt-box.tsx";

interface ComposerProps {
	session: OpenSession;
	draft: Draft;
	/** Told when something is sent. */
	onSend(): void;
}

/** The prompt box with what belongs to it: the queue, what extensions show, the model, and how to stop. */
export function Composer({ session, draft, onSend }: ComposerProps) {
	const { sessionId } = session;
	const { isRunning, isCompacting } = session.conversation.value;
	const form = useRef<HTMLFormElement>(null);
	useToastsAbove(form);
	const isBlank = draft.text.value.trim() === "";

	function send(how: "steer" | "followUp"): void {
		const message = draft.text.value.trim();
		if (message === "") return;
		draft.text.value = "";
		onSend();
		void sendPrompt(session, message, isRunning ? how : undefined).catch(() => {
			// What could not be sent is not lost.
			draft.place(message);
		});
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
			<Queue session={session} draft={draft} />
			<PromptBox
				session={session}
				draft={draft}
				placeholder={isRunning ? "Say something to steer it" : "Message, !shell or /command"}
				onSend={send}
			/>
			<div class="composer-bar">
				<Pickers session={session} />
				<span class="composer-buttons">
					{isCompacting && (
						<button
							type="button"
							onClick={() => void reporting(client().request("abort_compaction", { sessionId }))}
						>
							Stop compacting
						</button>
					)}
					{isRunning && (
						<button
							type="button"
							class="danger"
							onClick={() => void reporting(client().request("abort", { sessionId }))}
						>
							Stop
						</button>
					)}
					{isRunning && (
						<button
							type="button"
							disabled={isBlank}
							title="Say it when the run is over (Alt+Enter)"
							onClick={() => send("followUp")}
						>
							Follow up
						</button>
					)}
					<button
						type="submit"
						class="primary"
						disabled={isBlank}
						title={
							isRunning
								? "Say it now, between two steps (Enter)"
								: "Enter sends, Shift+Enter is a new line"
						}
					>
						{isRunning ? "Steer" : "Send"}
					</button>
				</span>
			</div>
			<Widgets session={session} isBelow={true} />
			<Statuses session={session} />
		</form>
	);
}

/** Sends what the user typed: a shell command, or words for the model. Rejects when it was not taken. */
async function sendPrompt(
	session: OpenSession,
	message: string,
	streamingBehavior: "steer" | "followUp" | undefined,
): Promise<void> {
	const { sessionId } = session;
	if (message.startsWith("!")) {
		const id = client().newId();
		const excludeFromContext = message.startsWith("!!");
		const command = message.replace(/^!{1,2}\s*/, "");
		session.bashStarts(id, command);
		const run = client().request("bash", { sessionId, command, excludeFromContext }, { id });
		await reporting(run);
		session.reload();
		return;
	}
	const sent = client().request("prompt", {
		sessionId,
		message,
		...(streamingBehavior && { streamingBehavior }),
	});
	if ((await reporting(sent)) === undefined) throw new Error("not sent");
}

function Queue({ session, draft }: Omit<ComposerProps, "onSend">) {
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
			<ul aria-label="Waiting to be said">
				{[
					...steering.map((text) => ({ how: "Steers", text })),
					...followUp.map((text) => ({ how: "Follows", text })),
				].map(({ how, text }, at) => (
					<li key={at}>
						<span class="small soft">{how}</span> <PlainText text={text} most={160} />
					</li>
				))}
			</ul>
			<button type="button" class="small" onClick={() => void takeBack()}>
				Take back
			</button>
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
			class="statuses small soft"
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
