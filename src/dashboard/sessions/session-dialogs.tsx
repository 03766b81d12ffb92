import { useId, useMemo, useState } from "preact/hooks";
import type { Data, ResponseData } from "../../protocol/index.ts";
import { useAnswer } from "../answer.ts";
import { client } from "../connection/connection.ts";
import { Button, Dialog, DialogForm } from "../parts/controls.tsx";
import { ago, baseName, errorMessage, formatNumberOf, shortPath } from "../parts/figures.ts";
import { Answered, Empty, orToast, Problem, toast } from "../parts/notices.tsx";
import { PlainText, visibleString } from "../parts/text.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import { DEFAULT_VIEW, navigate } from "../route.ts";

export type StartsIn = ResponseData["list_sessions"]["startsIn"];

interface NewSessionDialogProps {
	readonly startsIn: StartsIn;
	readonly folders: readonly string[];
	onClose(): void;
}

export function NewSessionDialog({ startsIn, folders, onClose }: NewSessionDialogProps) {
	const [error, setError] = useState<string>();
	const [isStarting, setStarting] = useState(false);
	async function start(cwd: string): Promise<void> {
		setStarting(true);
		setError(undefined);
		try {
			const { data } = await client().request("create_session", cwd ? { cwd } : {});
			navigate({ page: "session", sessionId: data.sessionId, view: DEFAULT_VIEW });
		} catch (problem) {
			setError(errorMessage(problem));
			setStarting(false);
		}
	}
	return (
		<Dialog title="New session" onCancel={onClose}>
			<DialogForm
				label={isStarting ? "Starting…" : "Start"}
				disabled={isStarting}
				onCancel={onClose}
				onSubmit={(data) => void start(String(data.get("cwd") ?? "").trim())}
			>
				{startsIn && "sample" in startsIn ? (
					<p>
						The demo creates a new sample project for the session. To work in your own folder, set
						up a model in pi and restart the server.
					</p>
				) : (
					<Folder start={startsIn?.folder} folders={folders} />
				)}
				{error !== undefined && <Problem text={error} />}
			</DialogForm>
		</Dialog>
	);
}

function Folder({ start, folders }: { start: string | undefined; folders: readonly string[] }) {
	const listId = useId();
	return (
		<>
			<label class="stack">
				Folder
				<input
					name="cwd"
					class="mono"
					placeholder={start === undefined ? "/home/me/project" : visibleString(start)}
					required={start === undefined}
					list={listId}
					autocomplete="off"
					spellcheck={false}
					autofocus
				/>
			</label>
			<datalist id={listId}>
				{folders.map((folder) => (
					<option key={folder} value={folder} />
				))}
			</datalist>
			<p class="small soft">
				A folder on the server's machine. The agent reads and changes files there.{" "}
				{start === undefined
					? "Enter the full path."
					: "Leave it empty to use the folder the server was started in."}
			</p>
		</>
	);
}

export function StoredDialog({ onClose }: { onClose(): void }) {
	const answer = useAnswer("list_stored_sessions", {});
	const { data } = answer;
	const [filter, setFilter] = useState("");
	const rows = useMemo(() => rowsOf(data?.sessions ?? [], filter), [data, filter]);
	async function open({ sessionPath, sessionId, piProcess }: Data<"StoredSession">): Promise<void> {
		const watch = piProcess !== undefined;
		const loaded =
			sessionId === undefined
				? (await orToast(client().request("load_session", { sessionPath, watch })))?.data
				: { sessionId };
		if (!loaded) return;
		if ("warning" in loaded && loaded.warning) toast(loaded.warning, "warning");
		navigate({ page: "session", sessionId: loaded.sessionId, view: DEFAULT_VIEW });
	}
	return (
		<Dialog title="Stored sessions" onCancel={onClose} wide>
			<input
				type="search"
				aria-label="Filter"
				placeholder="Filter by name, folder or first message"
				value={filter}
				autofocus
				onInput={(event) => setFilter(event.currentTarget.value)}
			/>
			<Answered answer={answer} waiting="Looking for sessions…">
				{() =>
					rows.length === 0 ? (
						<Empty>
							{filter ? "No session matches the filter." : "There are no stored sessions."}
						</Empty>
					) : (
						<div class="tree">
							<VirtualList
								rows={rows}
								label="Stored sessions"
								startsAtTop
								estimate={() => 54}
								render={({ stored }) => <Stored stored={stored} onOpen={() => void open(stored)} />}
							/>
						</div>
					)
				}
			</Answered>
			{data?.truncated && <p class="small soft">Only the most recent sessions are shown.</p>}
			<div class="dialog-actions row">
				<Button onClick={onClose} label="Close" />
			</div>
		</Dialog>
	);
}

function Stored({ stored, onOpen }: { stored: Data<"StoredSession">; onOpen(): void }) {
	const { sessionName, firstMessage, cwd, modifiedAt, messageCount, sessionId, piProcess } = stored;
	return (
		<button type="button" class="stored quiet" onClick={onOpen}>
			<PlainText class="one-line" text={sessionName ?? firstMessage ?? "(no messages)"} max={160} />
			<span class="small soft one-line">
				<PlainText text={shortPath(cwd)} /> · {formatNumberOf(messageCount, "message")} ·{" "}
				{ago(Date.parse(modifiedAt), Date.now())}
				{sessionId !== undefined && " · open"}
				{piProcess !== undefined && ` · open in pi (process ${piProcess}): watch it`}
			</span>
		</button>
	);
}

function rowsOf(sessions: readonly Data<"StoredSession">[], filter: string) {
	const terms = filter.toLowerCase().split(/\s+/).filter(Boolean);
	return sessions
		.filter(({ sessionName = "", firstMessage = "", cwd }) => {
			const text = `${sessionName} ${firstMessage} ${cwd}`.toLowerCase();
			return terms.every((term) => text.includes(term));
		})
		.map((stored) => ({ key: stored.sessionPath, stored }));
}

export function DeleteDialog(props: { session: Data<"SessionInfo">; onClose(): void }) {
	const { session, onClose } = props;
	const { sessionId, sessionName, cwd, isStreaming } = session;
	async function remove(): Promise<void> {
		await orToast(client().request("delete_session", { sessionId }));
		onClose();
	}
	return (
		<Dialog title="Delete this session?" onCancel={onClose}>
			<p>
				<PlainText as="strong" text={sessionName ?? baseName(cwd)} max={120} /> will be{" "}
				{isStreaming && "stopped and "}removed from the server. Its session file is kept, so you can
				open it again from the stored sessions.
			</p>
			<div class="dialog-actions row">
				<Button autofocus onClick={onClose} label="Cancel" />
				<Button class="danger" onClick={() => void remove()} label="Delete" />
			</div>
		</Dialog>
	);
}
