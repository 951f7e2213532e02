// Preloaded into a program that has no option for it: every request that it makes carries the token.
import { subscribe } from 'node:diagnostics_channel';

const value = `Bearer ${process.env.OUTSIDE_TOKEN}`;

subscribe('undici:request:create', ({ request }) => request.addHeader('authorization', value));
subscribe('http.client.request.created', ({ request }) => request.setHeader('authorization', value));
