import { useId, useState } from "preact/hooks";
import { useAnswer } from "../answer.ts";
import { Button } from "../parts/controls.tsx";
import { formatCount } from "../parts/figures.ts";
import { Answered } from "../parts/notices.tsx";
import { PlainText, visibleString } from "../parts/text.tsx";

interface FolderFieldProps {
	/** Where a session starts if the field is empty. */
	readonly start: string | undefined;
	/** Folders of other sessions, the latest first. */
	readonly recent: readonly string[];
	readonly value: string;
	onChange(value: string): void;
}

const MAX_RECENT = 6;

/** A folder on the server's machine: typed, one of the recent ones, or picked. */
export function FolderField({ start, recent, value, onChange }: FolderFieldProps) {
	const listId = useId();
	const [isPicking, setPicking] = useState(false);
	return (
		<>
			<label class="stack">
				Folder
				<input
					name="cwd"
					class="mono"
					placeholder={start === undefined ? "~/project" : visibleString(start)}
					required={start === undefined}
					list={listId}
					autocomplete="off"
					spellcheck={false}
					autofocus
					value={value}
					onInput={(event) => onChange(event.currentTarget.value)}
				/>
			</label>
			<datalist id={listId}>
				{recent.map((folder) => (
					<option key={folder} value={folder} />
				))}
			</datalist>
			{recent.length > 0 && (
				<fieldset class="plain-group row" aria-label="Recent projects">
					{recent.slice(0, MAX_RECENT).map((folder) => (
						<Button
							key={folder}
							class="small"
							aria-pressed={value === folder}
							onClick={() => onChange(folder)}
							label={<PlainText text={folder} max={60} />}
						/>
					))}
				</fieldset>
			)}
			<Button
				class="quiet small"
				aria-expanded={isPicking}
				onClick={() => setPicking(!isPicking)}
				label={isPicking ? "Close the folder picker" : "Pick a folder…"}
			/>
			{isPicking && <FolderPicker value={value || "~"} onPick={onChange} />}
			<p class="small soft">
				A folder on the server's machine; ~ is the home there. The agent reads and changes files in
				it.
				{start !== undefined && " Leave it empty to use the folder the server was started in."}
			</p>
		</>
	);
}

function FolderPicker({ value, onPick }: { value: string; onPick(folder: string): void }) {
	const [path, setPath] = useState(value);
	const answer = useAnswer("list_folders", { path });
	const go = (next: string) => {
		setPath(next);
		onPick(next);
	};
	return (
		<Answered answer={answer} waiting="Loading…">
			{({ folder, parent, folders, truncated }) => (
				<div class="picker stack">
					<PlainText as="code" text={folder} max={300} />
					<fieldset class="plain-group picker-list" aria-label="Inside it">
						{parent !== undefined && (
							<Button class="quiet small" onClick={() => go(parent)} label="↑ one folder up" />
						)}
						{folders.map((name) => (
							<Button
								key={name}
								class="quiet small"
								onClick={() => go(joined(folder, name))}
								label={<PlainText text={`${name}/`} max={80} />}
							/>
						))}
					</fieldset>
					{folders.length === 0 && <p class="small soft">No folders in this folder.</p>}
					{truncated && (
						<p class="small soft">Only the first {formatCount(folders.length)} are shown.</p>
					)}
				</div>
			)}
		</Answered>
	);
}

function joined(folder: string, name: string): string {
	const separator = folder.includes("\\") && !folder.includes("/") ? "\\" : "/";
	return folder.endsWith(separator) ? folder + name : folder + separator + name;
}
