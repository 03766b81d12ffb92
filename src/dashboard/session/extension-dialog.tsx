import { useState } from "preact/hooks";
import type { CommandFields } from "../../protocol/index.ts";
import { client } from "../connection/connection.ts";
import { Button, Dialog, DialogForm, TextButton } from "../parts/controls.tsx";
import { LongText, PlainText } from "../parts/text.tsx";
import { reporting } from "../parts/toasts.tsx";
import type { Question } from "./extension-ui.ts";
import type { OpenSession } from "./open-session.ts";

type Response = CommandFields<"extension_ui_response">["response"];

/** The oldest open question of an extension; any client may answer it. */
export function ExtensionDialog({ session }: { session: OpenSession }) {
	const [question] = session.ui.value.questions;
	if (!question) return null;
	const { requestId } = question;
	const answer = (response: Response) => {
		const { sessionId } = session;
		void reporting(client().request("extension_ui_response", { sessionId, requestId, response }));
	};
	return (
		<Dialog
			key={requestId}
			title={<PlainText text={question.title} most={300} />}
			onCancel={() => answer({ cancelled: true })}
			wide={question.method === "editor"}
		>
			<Ask question={question} answer={answer} />
		</Dialog>
	);
}

function Ask({ question, answer }: { question: Question; answer(response: Response): void }) {
	switch (question.method) {
		case "select":
			return (
				<>
					<div class="options">
						{question.options.map((option, at) => (
							<TextButton
								key={at}
								class=""
								autofocus={at === 0}
								onClick={() => answer({ value: option })}
								text={option}
							/>
						))}
					</div>
					<div class="dialog-actions row">
						<Button onClick={() => answer({ cancelled: true })} words="Cancel" />
					</div>
				</>
			);
		case "confirm":
			return (
				<>
					<LongText text={question.message} />
					<div class="dialog-actions row">
						<Button autofocus onClick={() => answer({ confirmed: false })} words="No" />
						<Button class="primary" onClick={() => answer({ confirmed: true })} words="Yes" />
					</div>
				</>
			);
		case "input":
			return <Write first="" placeholder={question.placeholder ?? ""} answer={answer} />;
		case "editor":
			return <Write first={question.prefill ?? ""} isLong answer={answer} />;
	}
}

interface WriteProps {
	first: string;
	placeholder?: string;
	isLong?: boolean;
	answer(response: Response): void;
}

function Write({ first, placeholder = "", isLong = false, answer }: WriteProps) {
	const [value, setText] = useState(first);
	const box = {
		value,
		autofocus: true,
		onInput: (event: { currentTarget: { value: string } }) => setText(event.currentTarget.value),
	};
	return (
		<DialogForm
			words="OK"
			onCancel={() => answer({ cancelled: true })}
			onSubmit={() => answer({ value })}
		>
			{isLong ? (
				<textarea aria-label="Text" class="mono" rows={14} {...box} />
			) : (
				<input aria-label="Answer" placeholder={placeholder} {...box} />
			)}
		</DialogForm>
	);
}
