import "./code.css";
import { useState } from "preact/hooks";
import { useAnswer } from "../../answer.ts";
import { Empty, Problem } from "../../parts/notices.tsx";
import type { SessionViewProps } from "../../views.ts";
import { DepsPanel } from "./deps-panel.tsx";
import { IndexHealth, NoIndex } from "./index-health.tsx";
import { SearchForm } from "./search-form.tsx";
import { SearchResults } from "./search-results.tsx";
import { UsagesPanel } from "./usages-panel.tsx";

const MOST_HITS = 40;

/** The code of the session's project: search, what is around a file, where a name is used. */
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

/** Errors of the index say what is wrong; some need a word on what to do. */
function inWords(error: string): string {
	return /not (yet )?indexed|indexing/i.test(error)
		? `${error} The first question about a project indexes it; ask again in a moment.`
		: error;
}
