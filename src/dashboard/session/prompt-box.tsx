import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Data } from "../../protocol/index.ts";
import { PlainText } from "../parts/text.tsx";
import type { Draft } from "./composer-state.ts";
import { completionOf, matchingCommands, pageCommands, partialName } from "./input-command.ts";
import type { OpenSession } from "./open-session.ts";

interface PromptBoxProps {
	readonly session: OpenSession;
	readonly draft: Draft;
	readonly placeholder: string;
	onSend(how: "steer" | "followUp"): void;
	onEscape?(): void;
}

/** Enter sends. Typing `/` proposes commands: arrows choose, Tab or Enter accepts, Escape closes the list. */
export function PromptBox({ session, draft, placeholder, onSend, onEscape }: PromptBoxProps) {
	const box = useRef<HTMLTextAreaElement>(null);
	const text = draft.text.value;
	const { prepends } = draft;
	const proposals = useProposals(session, text);
	const { offered, chosen } = proposals;
	const listId = useId();
	useLayoutEffect(() => {
		if (prepends.value > 0) box.current?.focus();
	}, [prepends.value]);
	useLayoutEffect(() => {
		const element = box.current;
		if (!element) return;
		// The box is as tall as its text, within the limits of its CSS.
		element.style.height = "auto";
		element.style.height = `${element.scrollHeight + 2}px`;
	}, [text]);

	function take(command: Data<"SlashCommand">): void {
		draft.text.value = completionOf(command);
		box.current?.focus();
	}

	function onKeyDown(event: KeyboardEvent): void {
		if (event.isComposing) return;
		const isPlain = !event.shiftKey && !event.altKey && !event.ctrlKey && !event.metaKey;
		if (isPlain && onProposalKey(event.key)) {
			event.preventDefault();
		} else if (event.key === "Enter" && !event.shiftKey) {
			event.preventDefault();
			onSend(event.altKey ? "followUp" : "steer");
		} else if (isPlain && event.key === "Escape") {
			onEscape?.();
		}
	}

	function onProposalKey(key: string): boolean {
		if (key === "ArrowDown" || key === "ArrowUp") {
			return proposals.move(key === "ArrowDown" ? 1 : -1);
		}
		if (!chosen) return false;
		if (key === "Escape") proposals.close();
		// If the name is complete, Enter sends it.
		else if (key === "Tab" || (key === "Enter" && chosen.name !== partialName(text))) take(chosen);
		else return false;
		return true;
	}

	const optionId = (command: Data<"SlashCommand">) => `${listId}-${offered.indexOf(command)}`;
	// Typed `object`, because the types lack multi-line comboboxes. Screen readers support them.
	const combobox: object | false = offered.length > 0 && {
		role: "combobox",
		"aria-autocomplete": "list",
		"aria-haspopup": "listbox",
		"aria-expanded": chosen !== undefined,
		...(chosen && { "aria-controls": listId, "aria-activedescendant": optionId(chosen) }),
	};
	return (
		<div class="prompt-box">
			{chosen && (
				<div id={listId} class="proposals" role="listbox" aria-label="Commands">
					{offered.map((command) => (
						<Proposal
							key={command.name}
							id={optionId(command)}
							command={command}
							isChosen={command === chosen}
							onPoint={() => proposals.choose(command)}
							onTake={() => take(command)}
						/>
					))}
				</div>
			)}
			<textarea
				ref={box}
				rows={1}
				aria-label="Message"
				placeholder={placeholder}
				value={text}
				{...combobox}
				onInput={(event) => {
					draft.text.value = event.currentTarget.value;
				}}
				onFocus={() => proposals.setFocused(true)}
				onBlur={() => proposals.setFocused(false)}
				onKeyDown={onKeyDown}
			/>
		</div>
	);
}

const PAGE_COMMANDS = pageCommands();

/** The proposals for a text. `chosen` is undefined while the list is closed. */
function useProposals(session: OpenSession, text: string) {
	const { commands, ensure } = session.commandList;
	const partial = partialName(text);
	const [isFocused, setFocused] = useState(false);
	/** True after Escape, until `move` opens the list again or the text is no longer a command name. */
	const [isClosed, setClosed] = useState(false);
	const [choice, setChoice] = useState<{ partial: string | undefined; name: string }>();
	useEffect(() => {
		if (partial === undefined) setClosed(false);
		else ensure();
	}, [partial]);
	const known = commands.value;
	const offered =
		partial !== undefined && known ? matchingCommands([...PAGE_COMMANDS, ...known], partial) : [];
	const isOpen = isFocused && !isClosed;
	const same = choice?.partial === partial && offered.find(({ name }) => name === choice?.name);
	const chosen = isOpen ? same || offered[0] : undefined;
	const choose = ({ name }: Data<"SlashCommand">) => setChoice({ partial, name });
	return {
		offered,
		chosen,
		setFocused,
		choose,
		close: () => setClosed(true),
		/** Moves the choice, wrapping at the ends, and opens a closed list. False if there are no proposals. */
		move(step: 1 | -1): boolean {
			if (offered.length === 0) return false;
			setClosed(false);
			const at = chosen ? offered.indexOf(chosen) + step : step === 1 ? 0 : -1;
			const next = offered.at(at % offered.length);
			if (next) choose(next);
			return true;
		},
	};
}

interface ProposalProps {
	readonly id: string;
	readonly command: Data<"SlashCommand">;
	readonly isChosen: boolean;
	onPoint(): void;
	onTake(): void;
}

function Proposal({ id, command, isChosen, onPoint, onTake }: ProposalProps) {
	const element = useRef<HTMLDivElement>(null);
	useEffect(() => {
		if (isChosen) element.current?.scrollIntoView({ block: "nearest" });
	}, [isChosen]);
	const { name, description = "", source } = command;
	return (
		// biome-ignore lint/a11y/useKeyWithClickEvents: the prompt box keeps the focus and handles the keys
		<div
			ref={element}
			id={id}
			class="proposal line"
			role="option"
			tabIndex={-1}
			aria-selected={isChosen}
			// Not `onMouseEnter`: a row that scrolls under a resting pointer must not be chosen.
			onMouseMove={() => !isChosen && onPoint()}
			onMouseDown={(event) => event.preventDefault()}
			onClick={onTake}
		>
			<PlainText as="code" class="proposal-name one-line" text={`/${name}`} max={80} />
			<PlainText
				class="proposal-text soft one-line grow"
				text={description.split("\n", 1)[0] ?? ""}
				max={200}
			/>
			<PlainText class="small soft" text={source} max={20} />
		</div>
	);
}
