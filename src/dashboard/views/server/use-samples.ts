import { useEffect, useState } from "preact/hooks";
import { client } from "../../connection/connection.ts";
import { textOf } from "../../error-text.ts";
import { type Sample, withSample } from "./samples.ts";

const EVERY_MS = 2_000;

/**
 * The server's figures every two seconds while somebody looks. The next question waits for the answer to the one before, so
 * a slow server is not asked faster than it answers.
 */
export function useSamples(): { samples: readonly Sample[]; error: string | undefined } {
	const [samples, setSamples] = useState<readonly Sample[]>([]);
	const [error, setError] = useState<string>();
	useEffect(() => {
		const stop = new AbortController();
		void (async () => {
			while (!stop.signal.aborted) {
				try {
					const { data } = await client().request("get_metrics", {}, { signal: stop.signal });
					setSamples((before) => withSample(before, { atMs: Date.now(), metrics: data }));
					setError(undefined);
				} catch (problem) {
					if (!stop.signal.aborted) setError(textOf(problem));
				}
				await pause(EVERY_MS, stop.signal);
				await untilVisible(stop.signal);
			}
		})();
		return () => stop.abort();
	}, []);
	return { samples, error };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		const timer = setTimeout(resolve, ms);
		signal.addEventListener(
			"abort",
			() => {
				clearTimeout(timer);
				resolve();
			},
			{ once: true },
		);
	});
}

function untilVisible(signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		const look = () => {
			if (!signal.aborted && document.visibilityState !== "visible") return;
			document.removeEventListener("visibilitychange", look);
			signal.removeEventListener("abort", look);
			resolve();
		};
		document.addEventListener("visibilitychange", look);
		signal.addEventListener("abort", look);
		look();
	});
}
