import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Data } from "../../protocol/index.ts";
import { useAnswer } from "../answer.ts";
import { PlainText } from "../parts/text.tsx";
import { completionOf, matchingCommands, pageCommands, partialName } from "./input-command.ts";
import type { OpenSession } from "./open-session.ts";

/** Something that can complete the text: a command after `/`, or a file after `@`. */
export interface Proposal {
	/** Unique in the list. */
	readonly name: string;
	readonly shown: string;
	readonly about: string;
	readonly source: string;
	/** The text with the proposal in it, and where the caret is then. */
	readonly text: string;
	readonly caret: number;
	/** The text names it in full already, so that Enter sends the text. */
	readonly isComplete: boolean;
}

const PAGE_COMMANDS = pageCommands();
const MAX_FILES = 50;

/** The proposals for a text. `chosen` is undefined while the list is closed. */
export function useProposals(session: OpenSession, text: string, caret: number) {
	const { commands, ensure } = session.commandList;
	const partial = partialName(text);
	const file = partial === undefined ? partialFile(text, caret) : undefined;
	const asked = partial ?? file;
	const [isFocused, setFocused] = useState(false);
	/** True after Escape, until `move` opens the list again or nothing is being named. */
	const [isClosed, setClosed] = useState(false);
	const [choice, setChoice] = useState<{ asked: string | undefined; name: string }>();
	useEffect(() => {
		if (asked === undefined) setClosed(false);
		if (partial !== undefined) ensure();
	}, [asked]);
	const { sessionId } = session;
	const fields = file === undefined ? undefined : { sessionId, query: file, limit: MAX_FILES };
	const files = useAnswer("list_files", fields).data?.files;
	const known = commands.value;
	const offered = useMemo(() => {
		if (partial !== undefined) return known ? commandProposals(known, partial) : [];
		return file === undefined ? [] : fileProposals(files ?? [], text, caret, file);
	}, [partial, known, file, files, text, caret]);
	const isOpen = isFocused && !isClosed;
	const same = choice?.asked === asked && offered.find(({ name }) => name === choice?.name);
	const chosen = isOpen ? same || offered[0] : undefined;
	const choose = ({ name }: Proposal) => setChoice({ asked, name });
	return {
		kind: partial === undefined ? "Files" : "Commands",
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

function commandProposals(known: readonly Data<"SlashCommand">[], partial: string): Proposal[] {
	return matchingCommands([...PAGE_COMMANDS, ...known], partial).map((command) => {
		const { name, description = "", source } = command;
		const text = completionOf(command);
		return {
			name,
			shown: `/${name}`,
			about: description.split("\n", 1)[0] ?? "",
			source,
			text,
			caret: text.length,
			isComplete: name === partial,
		};
	});
}

function fileProposals(files: readonly string[], text: string, caret: number, partial: string) {
	const start = caret - partial.length;
	return files.map((path): Proposal => {
		const isLast = text.slice(caret).trim() === "";
		const inserted = `${path}${isLast ? " " : ""}`;
		const name = path.slice(path.lastIndexOf("/") + 1);
		return {
			name: path,
			shown: name,
			about: path,
			source: "file",
			text: text.slice(0, start) + inserted + text.slice(caret),
			caret: start + inserted.length,
			isComplete: path === partial,
		};
	});
}

/** The file name that is being typed after an `@` that begins a word. */
export function partialFile(text: string, caret: number): string | undefined {
	return /(?:^|[\s("'`])@([^\s@"'`]{0,200})$/.exec(text.slice(0, caret))?.[1];
}

interface ProposalListProps {
	readonly id: string;
	readonly label: string;
	readonly offered: readonly Proposal[];
	readonly chosen: Proposal;
	onPoint(proposal: Proposal): void;
	onTake(proposal: Proposal): void;
}

export function ProposalList(props: ProposalListProps) {
	const { id, label, offered, chosen, onPoint, onTake } = props;
	return (
		<div id={id} class="proposals" role="listbox" aria-label={label}>
			{offered.map((one, at) => (
				<ProposalLine
					key={one.name}
					id={`${id}-${at}`}
					proposal={one}
					isChosen={one === chosen}
					onPoint={() => onPoint(one)}
					onTake={() => onTake(one)}
				/>
			))}
		</div>
	);
}

interface ProposalLineProps {
	readonly id: string;
	readonly proposal: Pick<Proposal, "shown" | "about" | "source">;
	readonly isChosen: boolean;
	onPoint(): void;
	onTake(): void;
}

export function ProposalLine({ id, proposal, isChosen, onPoint, onTake }: ProposalLineProps) {
	const element = useRef<HTMLDivElement>(null);
	useEffect(() => {
		if (isChosen) element.current?.scrollIntoView({ block: "nearest" });
	}, [isChosen]);
	const { shown, about, source } = proposal;
	return (
		// biome-ignore lint/a11y/useKeyWithClickEvents: the input keeps the focus and handles the keys
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
			<PlainText as="code" class="proposal-name one-line" text={shown} max={80} />
			<PlainText class="proposal-text soft one-line grow" text={about} max={200} />
			<PlainText class="small soft" text={source} max={20} />
		</div>
	);
}
