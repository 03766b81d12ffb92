import { expect, test } from "vitest";
import { askForToken, shareToken } from "../../src/dashboard/connection/connection.ts";
import { atEnd } from "../support/temp.ts";

/** A channel of this name; tabs with the same name receive each other's messages. */
function tab(name: string): BroadcastChannel {
	const channel = new BroadcastChannel(name);
	atEnd(() => channel.close());
	return channel;
}

test("a tab without a token gets it from one that has it", async () => {
	shareToken(tab("one"), () => undefined);
	shareToken(tab("one"), () => "secret");
	expect(await askForToken(tab("one"), 5_000)).toBe("secret");
});

test("without another tab, or with one that has none or talks nonsense, there is no token", async () => {
	expect(await askForToken(tab("two"), 10)).toBeUndefined();
	shareToken(tab("two"), () => undefined);
	const other = tab("two");
	other.onmessage = () => {
		for (const nonsense of [null, 7, {}, { token: 7 }, { token: "" }]) other.postMessage(nonsense);
	};
	expect(await askForToken(tab("two"), 100)).toBeUndefined();
});
