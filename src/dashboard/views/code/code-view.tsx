import "./code.css";
import { useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { Button } from "../../parts/controls.tsx";
import { ago, formatCount, formatNumberOf } from "../../parts/figures.ts";
import { Empty, Problem } from "../../parts/notices.tsx";
import { PlainText } from "../../parts/text.tsx";
import type { SessionViewProps } from "../../session/open-session.ts";
import { Figures, Section, useNow } from "../section.tsx";
import { DepsPanel } from "./deps-panel.tsx";
import { SearchResults, UsagesPanel } from "./search-results.tsx";

const MOST_HITS = 40;

export function CodeView({ sessionId }: SessionViewProps) {
	const [search, setSearch] = useState<{ query: string; includeTests: boolean }>();
	const [file, setFile] = useState<string>();
	const [depth, setDepth] = useState(1);
	const [name, setName] = useState<{ symbol: string; file?: string }>();
	const found = useAnswer(
		"code_search",
		search && { sessionId, limit: MOST_HITS, contextLines: 0, ...search },
	);
	const deps = useAnswer(
		"code_deps",
		file === undefined ? undefined : { sessionId, path: file, depth },
	);
	const usages = useAnswer("code_usages", name && { sessionId, ...name });
	const asked = [usages, deps, found];
	const status = useAnswer("code_status", { sessionId });
	const coverage = asked.find(({ data }) => data)?.data?.coverage ?? status.data?.coverage;
	return (
		<div class="view">
			<SearchForm
				isAsking={asked.some(({ isAsking }) => isAsking)}
				hasAnswer={coverage !== undefined}
				onSearch={setSearch}
				onFile={setFile}
			/>
			{[...asked, status].map(
				({ error, refresh }, at) =>
					error !== undefined && <Problem key={at} text={inWords(error)} onRetry={refresh} />,
			)}
			{!search && file === undefined && (
				<Empty>
					Search for a name or for words. From a result you get to what a file needs, what needs it,
					and where a name is used.
				</Empty>
			)}
			{usages.data && (
				<UsagesPanel
					answer={usages.data}
					onFile={setFile}
					onName={(symbol) => setName({ symbol })}
					onClose={() => setName(undefined)}
				/>
			)}
			{deps.data && (
				<DepsPanel
					answer={deps.data}
					depth={depth}
					onDepth={setDepth}
					onFile={setFile}
					onClose={() => setFile(undefined)}
				/>
			)}
			{found.data && (
				<SearchResults
					answer={found.data}
					onFile={setFile}
					onName={(symbol, path) => setName({ symbol, file: path })}
				/>
			)}
			{coverage ? (
				<IndexHealth coverage={coverage} />
			) : (
				status.data && <NoIndex state={status.data.state} />
			)}
		</div>
	);
}

/** Adds to some errors of the index what to do. */
function inWords(error: string): string {
	return /not (yet )?indexed|indexing/i.test(error)
		? `${error} The first question about a project indexes it; ask again in a moment.`
		: error;
}

interface SearchFormProps {
	isAsking: boolean;
	hasAnswer: boolean;
	onSearch(search: { query: string; includeTests: boolean }): void;
	onFile(path: string): void;
}

/** One box for words, names and paths of files. */
function SearchForm({ isAsking, hasAnswer, onSearch, onFile }: SearchFormProps) {
	const [text, setText] = useState("");
	const [includeTests, setIncludeTests] = useState(true);
	const query = text.trim();
	const isFile = /\.\w+$/.test(query);
	return (
		<form
			class="card row search-form"
			onSubmit={(event) => {
				event.preventDefault();
				if (query) onSearch({ query, includeTests });
			}}
		>
			<input
				type="search"
				aria-label="Search the code"
				placeholder="A name, words, or the path of a file"
				maxLength={1000}
				value={text}
				onInput={(event) => setText(event.currentTarget.value)}
			/>
			<Button type="submit" class="primary" disabled={!query} words="Search" />
			<Button disabled={!isFile} onClick={() => onFile(query)} words="Show file" />
			<label class="check">
				<input
					type="checkbox"
					checked={includeTests}
					onChange={(event) => setIncludeTests(event.currentTarget.checked)}
				/>
				with tests
			</label>
			<p class="soft small search-state" role="status">
				{isAsking && "Asking…"}
				{isAsking &&
					!hasAnswer &&
					" The first question about a project indexes it: that takes a while."}
			</p>
		</form>
	);
}

/** How far the answers can be trusted. */
function IndexHealth({ coverage }: { coverage: Data<"CodeCoverage"> }) {
	const now = useNow();
	const { files, unparsed, unresolvedImports, checkedMs, refreshedFiles, complete } = coverage;
	const { leftOut, notStored } = coverage;
	return (
		<Section title="Index">
			{!complete && (
				<p class="notice">The first indexing is not finished: files may still be missing.</p>
			)}
			{notStored && (
				<p class="notice">
					The index is in memory only: it cannot be written (<PlainText text={notStored.reason} />
					).
				</p>
			)}
			<Figures
				of={[
					["Files", formatCount(files), complete ? "all indexed" : "so far"],
					["Not wholly understood", formatCount(unparsed.count), listed(unparsed.paths)],
					["Imports without a target", formatCount(unresolvedImports)],
					[
						"Checked for changes",
						ago(checkedMs, now),
						`${formatNumberOf(refreshedFiles, "file")} taken in again`,
					],
					leftOut && [
						"Left out",
						formatCount(leftOut.count),
						listed(leftOut.first.map(({ path, reason }) => `${path} (${reason})`)),
					],
				]}
			/>
		</Section>
	);
}

function listed(paths: readonly string[]) {
	return <PlainText text={paths.slice(0, 3).join(", ")} most={200} />;
}

function NoIndex({ state }: Pick<Data<"CodeStatus">, "state">) {
	return (
		<Section title="Index">
			<p class="notice">
				{state === "partial"
					? "The first indexing was interrupted. The next question goes on with it, which takes a while."
					: "This project is not indexed yet. The first question indexes it, which takes a while; the index stays on the server's machine."}
			</p>
		</Section>
	);
}
