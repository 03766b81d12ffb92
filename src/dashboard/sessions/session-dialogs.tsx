import { useMemo, useState } from "preact/hooks";
import type { Data, ResponseData } from "../../protocol/index.ts";
import { useAnswer } from "../answer.ts";
import { client } from "../connection/connection.ts";
import { Button } from "../parts/controls.tsx";
import { Dialog, DialogForm } from "../parts/dialog.tsx";
import { ago, baseName, errorMessage, formatNumberOf, shortPath } from "../parts/figures.ts";
import { Answered, Empty, orToast, Problem } from "../parts/notices.tsx";
import { PlainText, visibleString } from "../parts/text.tsx";
import { useAction } from "../parts/use-action.ts";
import { VirtualList } from "../parts/virtual-list.tsx";
import { DEFAULT_VIEW, navigate } from "../route.ts";
import { isDemo } from "../session/demo-banner.tsx";
import { FolderField } from "./folder-field.tsx";
import { openStored } from "./open-stored.ts";

export type StartsIn = ResponseData["list_sessions"]["startsIn"];

interface NewSessionDialogProps {
	readonly startsIn: StartsIn;
	/** Folders of other sessions, the latest first. */
	readonly folders: readonly string[];
	/** An open session, which knows the models. */
	readonly anySessionId: string | undefined;
	onClose(): void;
}

export function NewSessionDialog(props: NewSessionDialogProps) {
	const { startsIn, folders, anySessionId, onClose } = props;
	const [error, setError] = useState<string>();
	const [isStarting, setStarting] = useState(false);
	const [folder, setFolder] = useState("");
	const [model, setModel] = useState("");
	const [level, setLevel] = useState("");
	const isSample = startsIn !== undefined && "sample" in startsIn;
	const stored = useAnswer("list_stored_sessions", isSample ? undefined : {}).data?.sessions;
	const recent = useMemo(() => recentFolders(folders, stored ?? []), [folders, stored]);

	async function start(): Promise<void> {
		setStarting(true);
		setError(undefined);
		try {
			const given = folder.trim();
			// Only the server can expand `~`.
			const cwd = given.startsWith("~")
				? (await client().request("list_folders", { path: given })).data.folder
				: given;
			const { data } = await client().request("create_session", cwd ? { cwd } : {});
			const { sessionId } = data;
			const [, provider, modelId] = /^([^/]+)\/(.+)$/s.exec(model) ?? [];
			if (provider && modelId) {
				await orToast(client().request("set_model", { sessionId, provider, modelId }));
			}
			if (level) {
				const chosen = level as Data<"SessionInfo">["thinkingLevel"];
				await orToast(client().request("set_thinking_level", { sessionId, level: chosen }));
			}
			navigate({ page: "session", sessionId, view: DEFAULT_VIEW });
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
				autofocus={isSample}
				onCancel={onClose}
				onSubmit={() => void start()}
			>
				{isSample ? (
					<p>
						The demo creates a new sample project for the session. To work in your own folder, set
						up a model in pi and restart the server.
					</p>
				) : (
					<>
						<FolderField
							start={startsIn && "folder" in startsIn ? startsIn.folder : undefined}
							recent={recent}
							value={folder}
							onChange={setFolder}
						/>
						<ModelFields
							sessionId={anySessionId}
							model={model}
							onModel={setModel}
							level={level}
							onLevel={setLevel}
						/>
					</>
				)}
				{error !== undefined && <Problem text={error} />}
			</DialogForm>
		</Dialog>
	);
}

interface ModelFieldsProps {
	readonly sessionId: string | undefined;
	readonly model: string;
	readonly level: string;
	onModel(model: string): void;
	onLevel(level: string): void;
}

const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

/** The model and the thinking level to begin with. Hidden as long as no session knows the models. */
function ModelFields({ sessionId, model, level, onModel, onLevel }: ModelFieldsProps) {
	const fields = sessionId === undefined ? undefined : { sessionId };
	const models = useAnswer("get_available_models", fields).data?.models ?? [];
	if (models.length === 0) return null;
	return (
		<div class="row">
			<label class="stack">
				Model
				<select value={model} onChange={(event) => onModel(event.currentTarget.value)}>
					<option value="">as set up in pi</option>
					{models.map(({ provider, id }) => (
						<option key={`${provider}/${id}`} value={`${provider}/${id}`}>
							{visibleString(`${provider}/${id}`)}
						</option>
					))}
				</select>
			</label>
			<label class="stack">
				Thinking
				<select value={level} onChange={(event) => onLevel(event.currentTarget.value)}>
					<option value="">as set up in pi</option>
					{LEVELS.map((one) => (
						<option key={one} value={one}>
							{one}
						</option>
					))}
				</select>
			</label>
		</div>
	);
}

/** Folders of open sessions, then of stored ones, the latest first. */
export function recentFolders(
	open: readonly string[],
	stored: readonly Pick<Data<"StoredSession">, "cwd" | "modifiedAt">[],
): string[] {
	const latest = stored.toSorted((a, b) => b.modifiedAt.localeCompare(a.modifiedAt));
	const all = [...open, ...latest.map(({ cwd }) => cwd)];
	return [...new Set(all.filter((folder) => !/[\\/]demo[\\/]projects[\\/]/.test(folder)))].slice(
		0,
		20,
	);
}

export function StoredDialog({ onClose }: { onClose(): void }) {
	const answer = useAnswer("list_stored_sessions", {});
	const { data } = answer;
	const [filter, setFilter] = useState("");
	const { run, attributes } = useAction();
	const rows = useMemo(() => rowsOf(data?.sessions ?? [], filter), [data, filter]);
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
								render={({ stored }) => (
									<Stored
										stored={stored}
										attributes={attributes}
										onOpen={() => void run(() => openStored(stored))}
									/>
								)}
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

interface StoredProps {
	readonly stored: Data<"StoredSession">;
	readonly attributes: ReturnType<typeof useAction>["attributes"];
	onOpen(): void;
}

function Stored({ stored, attributes, onOpen }: StoredProps) {
	const { sessionName, firstMessage, cwd, modifiedAt, messageCount, sessionId, piProcess } = stored;
	return (
		<button type="button" class="stored quiet" {...attributes} onClick={onOpen}>
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
	const { run, attributes } = useAction();
	async function remove(): Promise<void> {
		await orToast(client().request("delete_session", { sessionId }));
		onClose();
	}
	return (
		<Dialog title="Delete this session?" onCancel={onClose}>
			<p>
				<PlainText as="strong" text={sessionName ?? baseName(cwd)} max={120} /> will be{" "}
				{isStreaming && "stopped and "}removed from the server. Its session file is kept
				{isDemo(session)
					? ", but the sample project is removed with its last session."
					: ", so you can open it again from the stored sessions."}
			</p>
			<div class="dialog-actions row">
				<Button autofocus onClick={onClose} label="Cancel" />
				<Button class="danger" {...attributes} onClick={() => void run(remove)} label="Delete" />
			</div>
		</Dialog>
	);
}
