import { PlainText } from "../../parts/text.tsx";
import { causeInWords, causeName } from "./causes.ts";

/** Why the cache was missed: the cause, and what to make of it. */
export function Cause({ cause }: { cause: string }) {
	const words = causeInWords(cause);
	return (
		<>
			<span class="cause">
				<PlainText text={causeName(cause)} most={80} />
			</span>{" "}
			{words !== cause && <span class="soft">{words}</span>}
		</>
	);
}

/** What was the first to differ from the request before, where that is known. */
export function FirstDifference({ changed }: { changed?: string | undefined }) {
	return changed === undefined ? null : <PlainText text={changed} most={200} />;
}
