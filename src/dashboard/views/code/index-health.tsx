import type { CodeCoverage, CodeStatus } from "../../../protocol/index.ts";
import { ago } from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import { formatCount, formatNumberOf } from "../format.ts";
import { Figure, Figures, Section } from "../section.tsx";
import { useNow } from "../use-now.ts";

/** How far the answers can be trusted. */
export function IndexHealth({ coverage }: { coverage: CodeCoverage }) {
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
			<Figures>
				<Figure
					name="Files"
					value={formatCount(files)}
					note={complete ? "all indexed" : "so far"}
				/>
				<Figure
					name="Not wholly understood"
					value={formatCount(unparsed.count)}
					note={<Paths paths={unparsed.paths} />}
				/>
				<Figure name="Imports without a target" value={formatCount(unresolvedImports)} />
				<Figure
					name="Checked for changes"
					value={ago(checkedMs, now)}
					note={`${formatNumberOf(refreshedFiles, "file")} taken in again`}
				/>
				{leftOut && (
					<Figure
						name="Left out"
						value={formatCount(leftOut.count)}
						note={<Paths paths={leftOut.first.map(({ path, reason }) => `${path} (${reason})`)} />}
					/>
				)}
			</Figures>
		</Section>
	);
}

/** What is said of a project without an index. */
export function NoIndex({ state }: Pick<CodeStatus, "state">) {
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

function Paths({ paths }: { paths: readonly string[] }) {
	return <PlainText text={paths.slice(0, 3).join(", ")} most={200} />;
}
