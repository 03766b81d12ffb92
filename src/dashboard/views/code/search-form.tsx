import { useState } from "preact/hooks";

interface SearchFormProps {
	isAsking: boolean;
	/** Something has been answered, so the project is indexed. */
	hasAnswer: boolean;
	onSearch(search: { query: string; includeTests: boolean }): void;
	onFile(path: string): void;
}

/** One box for words and names; what is the path of a file may also be looked at directly. */
export function SearchForm({ isAsking, hasAnswer, onSearch, onFile }: SearchFormProps) {
	const [text, setText] = useState("");
	const [includeTests, setIncludeTests] = useState(true);
	const query = text.trim();
	return (
		<form
			class="card search-form"
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
			<button type="submit" class="primary" disabled={!query}>
				Search
			</button>
			<button type="button" disabled={!/\.\w+$/.test(query)} onClick={() => onFile(query)}>
				Show file
			</button>
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
