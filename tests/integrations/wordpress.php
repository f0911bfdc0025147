<?php
/** What waypost-short-links.php uses of WordPress. Reads {url, key, posts, steps} and prints what the steps left. */

$given = json_decode(file_get_contents('php://stdin'), true);
$posts = $given['posts'];
$meta = $given['meta'] ?? array();
$hooks = $scheduled = $log = $results = array();

define('ABSPATH', '/');
foreach ($given['constants'] as $name => $value) {
    define($name, $value);
}
ini_set('error_log', '/dev/stderr');

function add_action($name, $function, $priority, $count)
{
    global $hooks;
    $hooks[$name] = array($function, $count);
}
function add_filter($name, $function, $priority, $count)
{
    add_action($name, $function, $priority, $count);
}
function call_hook($name, ...$arguments)
{
    global $hooks;
    list($function, $count) = $hooks[$name];
    return $function(...array_slice($arguments, 0, $count));
}
function is_post_type_viewable($type) { return in_array($type, array('post', 'page'), true); }
function get_post_status($id) { global $posts; return $posts[$id]['status']; }
function get_permalink($id) { global $posts; return $posts[$id]['url']; }
function get_the_title($id) { global $posts; return $posts[$id]['title']; }
function get_post_meta($id, $name, $single) { global $meta; return $meta[$id][$name] ?? ''; }
function update_post_meta($id, $name, $value) { global $meta; $meta[$id][$name] = $value; }
function delete_post_meta($id, $name) { global $meta; unset($meta[$id][$name]); }
function wp_strip_all_tags($text) { return trim(strip_tags($text)); }
function wp_next_scheduled($name, $arguments)
{
    global $scheduled;
    foreach ($scheduled as $event) {
        if ($event[1] === $name && $event[2] === $arguments) {
            return $event[0];
        }
    }
    return false;
}
function wp_schedule_single_event($at, $name, $arguments) { global $scheduled; $scheduled[] = array($at - time(), $name, $arguments); }
if (!function_exists('mb_substr')) { // WordPress has its own, too
    function mb_substr($text, $start, $count) { return implode('', array_slice(preg_split('//u', $text, -1, PREG_SPLIT_NO_EMPTY), $start, $count)); }
}
function wp_json_encode($value) { return json_encode($value); }
function wp_parse_url($url, $part) { return parse_url($url, $part); }
function is_singular() { global $given; return isset($given['queried']); }
function get_queried_object_id() { global $given; return $given['queried']; }
function get_the_ID() { return 0; }

class WP_Error
{
    public function get_error_message() { return 'could not connect'; }
}
function is_wp_error($value) { return $value instanceof WP_Error; }
function wp_remote_post($url, $options)
{
    $lines = array_map(fn ($name, $value) => "$name: $value", array_keys($options['headers']), $options['headers']);
    $http = array('method' => 'POST', 'header' => $lines, 'content' => $options['body'], 'ignore_errors' => true,
        'timeout' => $options['timeout'], 'follow_location' => 0);
    $body = @file_get_contents($url, false, stream_context_create(array('http' => $http)));
    if ($body === false) {
        return new WP_Error();
    }
    return array('status' => (int) explode(' ', $http_response_header[0])[1], 'body' => $body);
}
function wp_remote_retrieve_response_code($response) { return $response['status']; }
function wp_remote_retrieve_body($response) { return $response['body']; }

require $given['plugin'];
foreach ($given['steps'] as $step) {
    if ($step[0] === 'lose events') {
        $scheduled = array();
    } elseif ($step[0] === 'cron') {
        list($due, $scheduled) = array($scheduled, array());
        foreach ($due as $event) {
            call_hook($event[1], ...$event[2]);
        }
    } elseif ($step[0] === 'publish') {
        call_hook('transition_post_status', 'publish', $step[2], (object) array('ID' => $step[1], 'post_type' => $posts[$step[1]]['type']));
    } else {
        $results[] = call_hook('pre_get_shortlink', false, ...array_slice($step, 1));
    }
}
echo json_encode(array('meta' => $meta, 'scheduled' => $scheduled, 'results' => $results));
