<?php
/**
 * Plugin Name: Waypost short links
 * Description: Creates a Waypost short link for each published post, as its shortlink.
 * Version: 1.0
 * License: Apache-2.0
 * Requires PHP: 7.4
 *
 * Copy this file to wp-content/mu-plugins/, and add to wp-config.php:
 *
 *     define('WAYPOST_URL', 'https://go.example.com');
 *     define('WAYPOST_API_KEY', 'wp_live_…');         // with the scope links:write
 *     define('WAYPOST_HOSTNAME', 'links.example.com'); // optional: your custom domain
 */

defined('ABSPATH') || exit;

const WAYPOST_META = '_waypost_short_url';
const WAYPOST_PENDING = '_waypost_pending';
const WAYPOST_WAITS = array(60, 300, 3600, 86400); // seconds before the next attempt

add_action('transition_post_status', 'waypost_on_publish', 10, 3);
add_action('waypost_shorten', 'waypost_shorten', 10, 2);
add_filter('pre_get_shortlink', 'waypost_shortlink', 10, 3);

/**
 * The request runs in WP-Cron: publishing does not wait for it, and Waypost can already fetch the page. WP-Cron can lose
 * an event that is added while it runs, so the post remembers that its link is pending.
 */
function waypost_on_publish($new_status, $old_status, $post)
{
    if ($new_status === 'publish' && is_post_type_viewable($post->post_type) && !get_post_meta($post->ID, WAYPOST_META, true)) {
        update_post_meta($post->ID, WAYPOST_PENDING, 0);
        waypost_schedule($post->ID, 0, 0);
    }
}

function waypost_schedule($post_id, $attempt, $wait)
{
    if (!wp_next_scheduled('waypost_shorten', array($post_id, $attempt))) {
        wp_schedule_single_event(time() + $wait, 'waypost_shorten', array($post_id, $attempt));
    }
}

function waypost_shorten($post_id, $attempt = 0)
{
    if (get_post_status($post_id) !== 'publish' || get_post_meta($post_id, WAYPOST_META, true)) {
        return;
    }
    list($short_url, $problem, $is_temporary) = waypost_create_link(get_permalink($post_id), get_the_title($post_id));
    if ($short_url) {
        update_post_meta($post_id, WAYPOST_META, $short_url);
        delete_post_meta($post_id, WAYPOST_PENDING);
        return;
    }
    error_log("Waypost: no short link for post $post_id: $problem");
    if ($is_temporary && isset(WAYPOST_WAITS[$attempt])) {
        update_post_meta($post_id, WAYPOST_PENDING, $attempt + 1);
        waypost_schedule($post_id, $attempt + 1, WAYPOST_WAITS[$attempt]);
    } else {
        delete_post_meta($post_id, WAYPOST_PENDING);
    }
}

/** Returns the short URL, or a problem and whether another attempt can help. */
function waypost_create_link($url, $title)
{
    if (!defined('WAYPOST_URL') || !defined('WAYPOST_API_KEY')) {
        return array(null, 'WAYPOST_URL or WAYPOST_API_KEY is missing in wp-config.php.', false);
    }
    $link = array(
        'destination_url' => $url,
        'title' => mb_substr(html_entity_decode(wp_strip_all_tags($title), ENT_QUOTES, 'UTF-8'), 0, 255),
        'hostname' => defined('WAYPOST_HOSTNAME') ? WAYPOST_HOSTNAME : null,
    );
    $body = wp_json_encode(array_filter($link));
    $response = wp_remote_post(rtrim(WAYPOST_URL, '/') . '/api/v1/links', array(
        'timeout' => 30,
        'redirection' => 0,
        'headers' => array(
            'Accept' => 'application/json',
            'Authorization' => 'Bearer ' . WAYPOST_API_KEY,
            'Content-Type' => 'application/json',
            'Idempotency-Key' => 'wordpress-' . hash('sha256', $body), // one link, also if the response is lost
        ),
        'body' => $body,
    ));
    if (is_wp_error($response)) {
        return array(null, $response->get_error_message(), true);
    }
    $status = wp_remote_retrieve_response_code($response);
    $answer = json_decode(wp_remote_retrieve_body($response), true);
    if ($status === 201 && isset($answer['data']['short_url'])) {
        return array(wp_parse_url(WAYPOST_URL, PHP_URL_SCHEME) . '://' . $answer['data']['short_url'], null, false);
    }
    $problem = wp_json_encode($answer['error'] ?? "status $status, not from Waypost");
    return array(null, $problem, $status === 429 || $status >= 500);
}

/** The shortlink of a post, in the head of its page and in the editor; others keep that of WordPress. */
function waypost_shortlink($shortlink, $id, $context)
{
    $post_id = $context === 'query' ? (is_singular() ? get_queried_object_id() : 0) : ($id ?: get_the_ID());
    if (!$post_id) {
        return $shortlink;
    }
    $pending = get_post_meta($post_id, WAYPOST_PENDING, true);
    if ($pending !== '') {
        waypost_schedule($post_id, (int) $pending, WAYPOST_WAITS[0]);
    }
    return get_post_meta($post_id, WAYPOST_META, true) ?: $shortlink;
}
