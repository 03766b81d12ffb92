import { signal } from "@preact/signals";
import { useEffect, useId, useMemo, useState } from "preact/hooks";
import type { Data } from "../protocol/index.ts";
import { useAnswer } from "./answer.ts";
import { Dialog } from "./parts/dialog.tsx";
import { baseName, shortPath } from "./parts/figures.ts";
import { Empty, focusToast } from "./parts/notices.tsx";
import { DEFAULT_VIEW, navigate, type Route, route } from "./route.ts";
import { composerStateOf } from "./session/composer-state.ts";
import { matchingCommands, pageCommands } from "./session/input-command.ts";
import { mayFocusUnasked } from "./session/prompt-box.tsx";
import { ProposalLine } from "./session/proposals.tsx";
import { firstMessagesOf } from "./sessions/first-messages.ts";
import { openStored } from "./sessions/open-stored.ts";
import { pages, sessionViews } from "./views.tsx";

/** Which of the page's own dialogs is open. */
export const shownOverlay = signal<"palette" | "keys" | undefined>(undefined);

/** The keys of the page, as the dialog lists them. `Ctrl` is ⌘ on Apple systems. */
const KEYS: readonly (readonly [where: string, keys: readonly (readonly [string, string])[]])[] = [
	[
		"Everywhere",
		[
			["Ctrl+K", "Go to a session, a view or a command"],
			["?", "Show these keys (outside of text boxes)"],
			["Alt+1 … Alt+5", "Conversation, Context, Cost, Changes, Code"],
			["Alt+0", "Go to the latest notice; Enter dismisses it"],
			["Escape", "Close what is open; in a session: stop what runs"],
		],
	],
	[
		"In the prompt box",
		[
			["Enter", "Send; during a run: steer the agent"],
			["Alt+Enter", "Send when the run has finished"],
			["Shift+Enter", "New line"],
			["↑ in an empty box", "What was sent before; ↓ comes back"],
			["/", "Commands; Tab or Enter completes"],
			["@", "Files of the project; Tab or Enter completes"],
			["!", "Shell command; !! hides it from the model"],
			["Paste or drop", "Pictures and text files"],
		],
	],
	[
		"In the conversation",
		[
			["Ctrl+F", "Find; Enter and Shift+Enter go through the matches"],
			["Tab, Enter", "Go to a folded call, open it"],
		],
	],
];

/** Opens the dialogs and switches views by keys. Call it once. */
export function startKeys(): void {
	addEventListener("keydown", (event) => {
		if (event.defaultPrevented || event.isComposing) return;
		const isHeld = event.ctrlKey || event.metaKey;
		if (isHeld && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k") {
			event.preventDefault();
			shownOverlay.value = shownOverlay.value === "palette" ? undefined : "palette";
		} else if (event.key === "?" && !isHeld && !isTyping(event.target)) {
			event.preventDefault();
			shownOverlay.value = "keys";
		} else if (event.altKey && !isHeld && event.code === "Digit0") {
			event.preventDefault();
			focusToast();
		} else if (event.altKey && !isHeld && /^Digit[1-5]$/.test(event.code)) {
			const shown = route.value;
			const view = VIEWS[Number(event.code.slice(-1)) - 1];
			if (shown.page !== "session" || !view) return;
			event.preventDefault();
			navigate({ page: "session", sessionId: shown.sessionId, view: view.name });
		}
	});
}

const VIEWS = [{ name: DEFAULT_VIEW, title: "Conversation" }, ...sessionViews];

function isTyping(target: EventTarget | null): boolean {
	return target instanceof Element && target.closest("input, textarea, select, dialog") !== null;
}

export function Overlays() {
	const close = () => {
		shownOverlay.value = undefined;
	};
	if (shownOverlay.value === "palette") return <Palette onClose={close} />;
	if (shownOverlay.value === "keys") return <KeysDialog onClose={close} />;
	return null;
}

function KeysDialog({ onClose }: { onClose(): void }) {
	return (
		<Dialog title="Keys" onCancel={onClose}>
			{KEYS.map(([where, keys]) => (
				<section key={where} class="stack">
					<h3 class="soft">{where}</h3>
					<dl class="keys">
						{keys.map(([key, does]) => (
							<div key={key} class="line">
								<dt>
									<kbd>{key}</kbd>
								</dt>
								<dd>{does}</dd>
							</div>
						))}
					</dl>
				</section>
			))}
			<div class="dialog-actions row">
				<button type="button" class="primary" onClick={onClose}>
					Close
				</button>
			</div>
		</Dialog>
	);
}

interface Target {
	readonly key: string;
	readonly shown: string;
	readonly about: string;
	readonly source: string;
	go(): void;
}

const MAX_TARGETS = 60;

function Palette({ onClose }: { onClose(): void }) {
	const [query, setQuery] = useState("");
	const [at, setAt] = useState(0);
	const listId = useId();
	const shown = route.value;
	const sessionId = shown.page === "session" ? shown.sessionId : undefined;
	const sessions = useAnswer("list_sessions", {}).data?.sessions;
	const stored = useAnswer("list_stored_sessions", {}).data?.sessions;
	const commands = useAnswer("get_commands", sessionId === undefined ? undefined : { sessionId })
		.data?.commands;
	const all = useMemo(
		() =>
			targetsOf({
				sessions: sessions ?? [],
				stored: stored ?? [],
				commands: commands ?? [],
				sessionId,
			}),
		[sessions, stored, commands, sessionId],
	);
	const found = useMemo(() => matchingTargets(all, query).slice(0, MAX_TARGETS), [all, query]);
	const chosen = found[Math.min(at, found.length - 1)];
	useEffect(() => setAt(0), [query]);

	function go(target: Target): void {
		onClose();
		target.go();
	}
	function onKeyDown(event: KeyboardEvent): void {
		const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
		if (step !== 0 && found.length > 0) {
			event.preventDefault();
			setAt((found.length + Math.min(at, found.length - 1) + step) % found.length);
		} else if (event.key === "Enter" && chosen) {
			event.preventDefault();
			go(chosen);
		} else if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
			event.preventDefault();
			onClose();
		}
	}
	return (
		<Dialog title="Go to" onCancel={onClose} wide>
			<input
				type="text"
				role="combobox"
				aria-label="Session, view or command"
				aria-expanded="true"
				aria-controls={listId}
				aria-autocomplete="list"
				{...(chosen && { "aria-activedescendant": `${listId}-${found.indexOf(chosen)}` })}
				placeholder="Session, view or command"
				autocomplete="off"
				spellcheck={false}
				autofocus
				value={query}
				onInput={(event) => setQuery(event.currentTarget.value)}
				onKeyDown={onKeyDown}
			/>
			{found.length === 0 && <Empty>Nothing has this name.</Empty>}
			<div id={listId} class="palette" role="listbox" aria-label="Targets">
				{found.map((target, index) => (
					<ProposalLine
						key={target.key}
						id={`${listId}-${index}`}
						proposal={target}
						isChosen={target === chosen}
						onPoint={() => setAt(index)}
						onTake={() => go(target)}
					/>
				))}
			</div>
		</Dialog>
	);
}

interface TargetSource {
	readonly sessions: readonly Data<"SessionInfo">[];
	readonly stored: readonly Data<"StoredSession">[];
	readonly commands: readonly Data<"SlashCommand">[];
	readonly sessionId: string | undefined;
}

function targetsOf({ sessions, stored, commands, sessionId }: TargetSource): Target[] {
	const firstMessages = firstMessagesOf(stored);
	const goTo = (to: Route) => () => navigate(to);
	/** The conversation, ready to write in. */
	const goToBox = (id: string) => () => {
		navigate({ page: "session", sessionId: id, view: DEFAULT_VIEW });
		if (mayFocusUnasked()) composerStateOf(id).draft.focus();
	};
	const views = VIEWS.flatMap(({ name, title }): Target[] =>
		sessionId === undefined
			? []
			: [
					{
						key: `view:${name}`,
						shown: title,
						about: "View of this session",
						source: "view",
						go:
							name === DEFAULT_VIEW
								? goToBox(sessionId)
								: goTo({ page: "session", sessionId, view: name }),
					},
				],
	);
	const sessionsPage = { name: "sessions", title: "Sessions", about: "All open sessions" } as const;
	const others = [sessionsPage, ...pages].map(
		({ name, title, about }): Target => ({
			key: `page:${name}`,
			shown: title,
			about,
			source: "page",
			go: goTo({ page: name } as Route),
		}),
	);
	const open = sessions.map((session): Target => {
		const { sessionId: id, sessionName, cwd } = session;
		const firstMessage = firstMessages.get(id);
		return {
			key: `session:${id}`,
			shown: sessionName ?? baseName(cwd),
			about: `${firstMessage ? `“${firstMessage}” ` : ""}${shortPath(cwd)}`,
			source: id === sessionId ? "this session" : "session",
			go: goToBox(id),
		};
	});
	const isOpen = new Set(sessions.map((session) => session.sessionId));
	const closed = stored
		.filter(({ sessionId: id }) => id === undefined || !isOpen.has(id))
		.map((one): Target => {
			const { sessionPath, sessionName, firstMessage, cwd, piProcess } = one;
			return {
				key: `stored:${sessionPath}`,
				shown: sessionName ?? baseName(cwd),
				about: `${firstMessage ? `“${firstMessage}” ` : ""}${shortPath(cwd)}`,
				source: piProcess === undefined ? "stored session" : "in a terminal",
				go: () => void openStored(one),
			};
		});
	const own = sessionId === undefined ? [] : matchingCommands([...pageCommands(), ...commands], "");
	const typed = own.map(({ name, description = "" }): Target => {
		return {
			key: `command:${name}`,
			shown: `/${name}`,
			about: description.split("\n", 1)[0] ?? "",
			source: "command",
			go() {
				if (sessionId === undefined) return;
				navigate({ page: "session", sessionId, view: DEFAULT_VIEW });
				composerStateOf(sessionId).draft.prepend(`/${name} `);
			},
		};
	});
	return [...views, ...open, ...others, ...typed, ...closed];
}

/** All words occur; those with a match at the start of the name come first. */
export function matchingTargets<One extends Pick<Target, "shown" | "about" | "source">>(
	all: readonly One[],
	query: string,
): One[] {
	const words = query.toLowerCase().split(/\s+/).filter(Boolean);
	const rank = ({ shown }: One) => {
		const name = shown.toLowerCase().replace(/^\//, "");
		const first = words[0]?.replace(/^\//, "") ?? "";
		return name.startsWith(first) ? 0 : name.includes(first) ? 1 : 2;
	};
	return all
		.filter(({ shown, about, source }) => {
			const text = `${shown} ${about} ${source}`.toLowerCase();
			return words.every((word) => text.includes(word));
		})
		.map((one, at) => ({ one, at, rank: rank(one) }))
		.sort((a, b) => a.rank - b.rank || a.at - b.at)
		.map(({ one }) => one);
}
